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
  std::optional<double> best = {};  // best score, for exercises with one: less is better
};

/// Storage of answers and progress.
class AnswerStore {
 public:
  /// Opens the store of the project at `root`. Throws kit::UsageError if the saved progress is damaged.
  explicit AnswerStore(std::filesystem::path root);

  /// Returns the path of the answer relative to the project, such as practise/11_bahdanau/1_additive_score.cpp.
  std::filesystem::path answer_of(const Exercise& exercise) const;
  /// Creates the answer with the starting text if there is none. Throws kit::UsageError if it cannot be written.
  void begin(const Exercise& exercise) const;
  /// Renames the old answer so that its name has the time, and creates a new one. Returns the old file's new path, or
  /// an empty path if there was no file.
  std::filesystem::path reset(const Exercise& exercise);
  /// Returns a line by line difference between the old and the new starting text, if the exercise has changed since the
  /// learner was last told.
  std::optional<std::string> changed(const Exercise& exercise) const;
  /// Records that the learner has been told of the change.
  void accept_change(const Exercise& exercise) const;

  /// Copies an answer that passed into the learner's engine, practise/engine/tape.hpp, and returns that path. Also
  /// updates practise/engine.hpp, which includes all existing pieces. A file that was edited by hand is first renamed
  /// so that its name has the time.
  std::filesystem::path keep_piece(const Exercise& exercise, const std::string& answer,
                                   const std::vector<Exercise>& all) const;
  bool has_piece(const std::string& piece) const;

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
  void tell_editors(const std::map<std::string, std::pair<std::string, std::string>>& commands) const;

  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path state() const;
  void read();
  void save() const;
  std::filesystem::path given_of(const Exercise& exercise) const;
  std::filesystem::path set_aside(const std::filesystem::path& file) const;

  std::filesystem::path root_;
  std::map<std::string, Record> records_;
  std::string current_;
};

}  // namespace tapestry::grader
