// What `lessons/practise` can be asked for, on a terminal or piped: task, hint, solution, reset, check, list.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/grader/answer_store.hpp"
#include "lessons/grader/grader.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::grader {

class Session {
 public:
  /// The project's folder and its configured build. Reads all exercises; throws kit::UsageError or Error.
  Session(const std::filesystem::path& root, const std::filesystem::path& build);

  const std::vector<Exercise>& exercises() const { return exercises_; }
  /// "11" (its first that is not solved), "11.2", or "" (the one worked on last, else the first not solved).
  /// Throws kit::UsageError naming those there are.
  const Exercise& find(const std::string& which) const;
  /// The next that is not solved, after this one and then from the start; nothing if all are.
  const Exercise* after(const Exercise& exercise) const;

  // Each returns what is to be shown.
  std::string list(const kit::Terminal& terminal) const;
  /// Gives the file, if it is not there, and says what to do, in which file.
  std::string begin(const Exercise& exercise, const kit::Terminal& terminal);
  /// The next one; all of them when there is no next.
  std::string hint(const Exercise& exercise);
  std::string solution(const Exercise& exercise);
  std::string reset(const Exercise& exercise);

  struct Checked {
    Verdict verdict;
    std::string text;
  };
  /// Judges the answer as it stands in its file now, with a seed of its own at each call, and remembers the
  /// result.
  Checked check(const Exercise& exercise, const kit::Terminal& terminal,
                std::optional<std::uint64_t> seed = {});

  /// Where the answer is, for whoever watches it.
  std::filesystem::path file_of(const Exercise& exercise) const;
  const Grader& grader() const { return grader_; }
  const Compiler& compiler() const { return compiler_; }

 private:
  std::filesystem::path shown(const Exercise& exercise) const;
  void tell_editors() const;

  std::filesystem::path root_;
  std::vector<Exercise> exercises_;
  Compiler compiler_;
  Grader grader_;
  AnswerStore store_;
};

}  // namespace tapestry::grader
