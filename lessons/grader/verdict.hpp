// The grader's verdict on an answer, and its text.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lessons/grader/diagnostic.hpp"
#include "lessons/grader/exercise.hpp"
#include "lessons/grader/judge/finding.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::grader {

/// The result of a check.
struct Verdict {
  enum class Kind { right, wrong, not_written, compile_error, crash, timeout, interrupted };

  Kind kind = Kind::interrupted;
  Finding finding;                    // for right, wrong, not_written
  std::optional<std::string> reason;  // for wrong: the sentence of the recognised mistake
  Diagnostic diagnostic;              // for compile_error, crash
  std::string details;                // output of the compiler, or of the program that was run
  std::string printed;                // output of the answer itself
  double seconds = 0;                 // time to compile and judge

  bool passed() const { return kind == Kind::right; }
};

/// Returns a program's output for display: at most `most_lines` lines of 500 bytes, with terminal escapes made visible.
std::string for_terminal(const std::string& text, int most_lines);

/// Returns the verdict as text for a terminal or a file: the claims that hold, then the first fault. `answer` is the
/// path to show, and `answer_text` the file's content, for the line of a diagnostic.
std::string text(const Verdict& verdict, const Exercise& exercise, const std::filesystem::path& answer,
                 const std::string& answer_text, const kit::Terminal& terminal);

}  // namespace tapestry::grader
