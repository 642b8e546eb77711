// Translation of compiler errors and crash reports into one sentence about a line of the learner's.
#pragma once

#include <filesystem>
#include <string>

namespace tapestry::grader {

/// A sentence about a line of the answer.
struct Diagnostic {
  int line = 0;  // in the answer; 0: unknown
  std::string sentence;
};

/// Explains the first error in the output of GCC or Clang, or of their linkers. `answer` is the learner's file, and
/// `judge` the exercise's source, whose judge calls the answer.
Diagnostic compile_error(const std::string& output, const std::filesystem::path& answer,
                         const std::filesystem::path& judge);

/// Explains a crash from the output of AddressSanitizer or of the standard library's assertions, or from the signal.
Diagnostic crash(const std::string& output, int signal, const std::filesystem::path& answer);

/// Explains that a program was ended at its time limit, in seconds. The line is unknown.
Diagnostic out_of_time(double limit);

/// Explains a WebAssembly trap from the message of V8, SpiderMonkey or JavaScriptCore, in the sentences of crash().
/// The line is unknown.
Diagnostic trap(const std::string& message);

}  // namespace tapestry::grader
