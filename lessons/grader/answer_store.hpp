// The learner's files: answers in practise/NN_slug/, which git ignores and no command overwrites, and the progress of
// each exercise in practise/.state.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lessons/grader/exercise.hpp"

namespace tapestry::grader {

/// Progress of an exercise.
struct Record {
  int tries = 0, hints = 0;         // verdicts so far; hints shown
  std::string solved = {};          // date of the first solution, or ""
  bool solution_shown = false;      // the solution was shown before the exercise was solved
  std::optional<double> best = {};  // best score so far (lower is better), if the exercise is scored
};

/// Storage of answers and progress.
class AnswerStore {
 public:
  /// Opens the store of the project at `root`. Throws kit::UsageError if the saved progress is damaged.
  explicit AnswerStore(std::filesystem::path root);

  /// Returns the path of the answer relative to the project, such as practise/11_bahdanau/1_additive_score.cpp.
  std::filesystem::path answer_of(const Exercise& exercise) const;
  /// Creates the answer file from the exercise's starting text if the file does not exist. Throws kit::UsageError if it
  /// cannot be written.
  void begin(const Exercise& exercise) const;
  /// Renames the old answer by adding a timestamp to its name, and creates a new one. Returns the old file's new path,
  /// or an empty path if there was no file.
  std::filesystem::path reset(const Exercise& exercise);
  /// Returns a line-by-line diff from the starting text that the learner last saw to the current one, or nothing if
  /// they are equal or no earlier text was saved.
  std::optional<std::string> changed(const Exercise& exercise) const;
  /// Records that the learner has been told of the change.
  void accept_change(const Exercise& exercise) const;

  /// Copies a passing answer to its header in the learner's engine, such as practise/engine/tape.hpp, and returns that
  /// path. Also updates practise/engine.hpp, which includes every engine header written so far. A file that was edited
  /// by hand is first renamed by adding a timestamp to its name.
  std::filesystem::path save_engine_header(const Exercise& exercise, const std::string& answer,
                                           const std::vector<Exercise>& all) const;
  bool has_engine_header(const std::string& piece) const;

  Record record(const ExerciseId& id) const;
  /// Saves the progress of an exercise, merged with what other processes have saved: a solved exercise stays solved,
  /// and the higher counts and the better score win.
  void remember(const ExerciseId& id, Record record);
  /// Returns the id of the exercise that was worked on last; empty at first.
  std::optional<std::string> current() const;
  /// Saves the exercise that is worked on now.
  void set_current(const ExerciseId& id);

  /// Writes practise/compile_commands.json, which tells editors how each answer is compiled. `commands` maps a file
  /// to its folder and command.
  void write_compile_commands(
      const std::map<std::string, std::pair<std::string, std::string>>& commands) const;

  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path state() const;
  void read();
  void save() const;
  std::filesystem::path given_of(const Exercise& exercise) const;
  std::filesystem::path rename_with_timestamp(const std::filesystem::path& file) const;

  std::filesystem::path root_;
  std::map<std::string, Record> records_;
  std::string current_;
};

}  // namespace tapestry::grader
