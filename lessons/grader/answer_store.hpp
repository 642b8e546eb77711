// The learner's files: answers in practise/NN_slug/, which git ignores and no command overwrites, and what is
// remembered of each in practise/.state.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lessons/grader/exercise.hpp"

namespace tapestry::grader {

/// What is remembered of an exercise.
struct Record {
  int tries = 0, hints = 0;         // verdicts since it was begun; hints that were shown
  std::string solved = {};          // the day, or ""
  bool solution_shown = false;      // before it was solved
  std::optional<double> best = {};  // of exercises with a score: less is better
};

class AnswerStore {
 public:
  /// Throws kit::UsageError if practise/ or what is remembered there cannot be read.
  explicit AnswerStore(std::filesystem::path root);

  /// practise/11_bahdanau/1_additive_score.cpp, relative to the project.
  std::filesystem::path answer_of(const Exercise& exercise) const;
  /// Puts the given file there if there is none. Throws kit::UsageError where it cannot be written.
  void begin(const Exercise& exercise) const;
  /// Keeps the old file under a name with the time, which is returned, and gives a new one.
  std::filesystem::path reset(const Exercise& exercise);
  /// Where the exercise was changed since it was given: what it gives now beside what it gave, line by line.
  std::optional<std::string> changed(const Exercise& exercise) const;
  /// From now on the learner knows of the change.
  void accept_change(const Exercise& exercise) const;

  /// Puts an answer that passed into the learner's engine: practise/engine/tape.hpp, which is returned, and
  /// practise/engine.hpp, which includes all pieces there are. A piece that was changed by hand is kept under a name
  /// with the time.
  std::filesystem::path keep_piece(const Exercise& exercise, const std::string& answer,
                                   const std::vector<Exercise>& all) const;
  bool has_piece(const std::string& piece) const;

  Record record(const ExerciseId& id) const;
  /// Writes it down beside what other processes have written since: nothing that was reached is taken back.
  void remember(const ExerciseId& id, Record record);
  /// The exercise that was worked on last; nothing at first.
  std::optional<std::string> current() const;
  void set_current(const ExerciseId& id);

  /// So that editors know how each answer is compiled.
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
