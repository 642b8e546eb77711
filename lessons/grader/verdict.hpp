// What the grader says about an answer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lessons/grader/diagnostic.hpp"
#include "lessons/grader/exercise.hpp"
#include "lessons/grader/judge/finding.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::grader {

struct Verdict {
  enum class Kind { right, wrong, not_written, compile_error, crash, timeout, interrupted };

  Kind kind = Kind::interrupted;
  Finding finding;                    // right, wrong, not_written
  std::optional<std::string> reason;  // wrong: the sentence of the mistake that it was recognised as
  Diagnostic diagnostic;              // compile_error, crash
  std::string details;                // the compiler's output, or all that a crash printed
  std::string printed;                // by the answer itself
  double seconds = 0;                 // from the file to the verdict

  bool passed() const { return kind == Kind::right; }
};

/// Text of a program for a person: at most `most_lines` lines of 500 bytes, without terminal escapes.
std::string for_terminal(const std::string& text, int most_lines);

/// For a terminal or a file: what is right, then the first thing that is wrong. `answer` is the learner's
/// file as it is shown, with its text for the line of a diagnostic.
std::string text(const Verdict& verdict, const Exercise& exercise, const std::filesystem::path& answer,
                 const std::string& answer_text, const kit::Terminal& terminal);

}  // namespace tapestry::grader
