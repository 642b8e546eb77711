// The commands of `lessons/practise`, on a terminal or piped: task, hint, solution, reset, check and list.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/grader/answer_store.hpp"
#include "lessons/grader/grader.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::grader {

/// One learner's session.
class Session {
 public:
  /// Reads all exercises and the learner's progress. `root` is the project's folder, `build` its configured build.
  /// Throws kit::UsageError or Error if one of them cannot be used.
  Session(const std::filesystem::path& root, const std::filesystem::path& build);

  const std::vector<Exercise>& exercises() const { return exercises_; }
  /// Returns an exercise by "11" (the lesson's first unsolved one), "11.2", or "" (the one worked on last, else the
  /// first unsolved one). Throws kit::UsageError that names the lessons with exercises.
  const Exercise& find(const std::string& which) const;
  /// Returns the next unsolved exercise, after this one and then from the start; null if all others are solved.
  const Exercise* after(const Exercise& exercise) const;

  // The functions below return the text to show.
  std::string list(const kit::Terminal& terminal) const;
  /// Creates the answer if there is none, and returns the task with the answer's path.
  std::string begin(const Exercise& exercise, const kit::Terminal& terminal);
  /// Returns the next hint; all hints if there is no next one.
  std::string hint(const Exercise& exercise);
  std::string solution(const Exercise& exercise);
  std::string reset(const Exercise& exercise);

  /// A verdict and the text to show.
  struct Checked {
    Verdict verdict;
    std::string text;
  };
  /// Judges the current content of the answer and saves the result. Without `seed`, each call uses a new one. Throws
  /// kit::UsageError if the answer is not a regular file.
  Checked check(const Exercise& exercise, const kit::Terminal& terminal,
                std::optional<std::uint64_t> seed = {});

  /// Returns the path of the answer, for watching it.
  std::filesystem::path file_of(const Exercise& exercise) const;
  const Grader& grader() const { return grader_; }
  const Compiler& compiler() const { return compiler_; }

 private:
  std::filesystem::path shown(const Exercise& exercise) const;
  void write_compile_commands() const;

  std::filesystem::path root_;
  std::vector<Exercise> exercises_;
  Compiler compiler_;
  Grader grader_;
  AnswerStore store_;
};

}  // namespace tapestry::grader
