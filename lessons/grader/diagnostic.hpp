// What a compiler or a crash says, in one sentence about the learner's own line.
#pragma once

#include <filesystem>
#include <string>

namespace tapestry::grader {

struct Diagnostic {
  int line = 0;  // of the answer; 0: none is named
  std::string sentence;
};

/// The first error of a compiler's output (GCC's or Clang's). `answer` is the learner's file, `judge` the
/// exercise's source, whose judge calls the answer.
Diagnostic compile_error(const std::string& output, const std::filesystem::path& answer,
                         const std::filesystem::path& judge);

/// What AddressSanitizer, the standard library's assertions or a signal say about a crash.
Diagnostic crash(const std::string& output, int signal, const std::filesystem::path& answer);

}  // namespace tapestry::grader
