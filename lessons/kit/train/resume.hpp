// Checkpoints of a training run, saved about once a minute. A killed run resumes from the last one with the same bits.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "lessons/kit/program/files.hpp"
#include "lessons/kit/program/ranks.hpp"
#include "lessons/kit/translation/batches.hpp"
#include "nn/module.hpp"
#include "optim/optimiser.hpp"
#include "optim/training_state.hpp"

namespace tapestry::kit {

/// Position of a run, saved in its checkpoint.
struct RunPlace {
  Size step = 0;       // completed steps
  Place data;          // position of the next batch
  double seconds = 0;  // training time so far, without evaluation
  double words = 0;    // words processed so far
};

/// Returns the part of a run's name that identifies its training text by a hash: "text 4016c93c3be74c18".
std::string name_of_text(std::uint64_t hash);

/// Checkpoint of one training run.
class Checkpoints {
 public:
  /// Locks the folder of `file` (FolderLock); throws UsageError if another run holds the lock. `run` describes the run
  /// (model, data, seed, steps), with commas between the parts; a checkpoint of another run is rejected. Model and
  /// optimiser must outlive this object.
  Checkpoints(std::filesystem::path file, std::string run, Module& model, Optimiser& optimiser);

  /// Restores model, optimiser and place from the file. Returns false if there is no file. Every rank must call it; all
  /// of them receive the values of rank 0, and save them to their own files after a restore. Throws UsageError for a
  /// damaged file, for the file of another run, and on rank 0 if another rank trains another run.
  bool resume(RunPlace& place);
  /// Removes the file if it exists. A symbolic link to it stays.
  void forget() const;
  /// Saves if at least 45 s have passed since the last save, on rank 0 only; with `always`, saves now, on every rank.
  void save(const RunPlace& place, bool always = false);

  const std::filesystem::path& file() const { return file_; }

  /// Texts that are saved with the checkpoint, such as vocabularies.
  std::map<std::string, std::string> texts;
  /// Ranks that train the model together.
  Ranks ranks;
  /// Further state of the run by section, such as an average of weights. It is saved and restored like the model.
  std::map<std::string, State> more;

 private:
  std::map<std::string, State> sections() const;
  bool read(RunPlace& place);

  std::filesystem::path file_;
  FolderLock lock_;
  std::string run_;
  Module& model_;
  Optimiser& optimiser_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Loads a checkpoint file, for use after training. Throws UsageError if it is missing or damaged.
TrainingState load_checkpoint(const std::filesystem::path& file);

}  // namespace tapestry::kit
