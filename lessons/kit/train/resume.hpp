// Training that can be killed: a checkpoint about once a minute, and the same run again from the last one,
// bit for bit.
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

/// Where a run stands. All of it goes into the checkpoint.
struct RunPlace {
  Size step = 0;       // steps done
  Place data;          // the next batch
  double seconds = 0;  // of training so far, evaluation not counted
  double words = 0;    // worked through so far
};

/// What a run's name says of the text that it learns from: "text 4016c93c3be74c18", from a hash of all of it.
std::string name_of_text(std::uint64_t hash);

/// The checkpoint of one training run.
class Checkpoints {
 public:
  /// `run` says in words what the run is (model, data, seed, steps): a checkpoint of another run is refused.
  /// The file's folder is this run's alone while this lives (FolderLock).
  Checkpoints(std::filesystem::path file, std::string run, Module& model, Optimiser& optimiser);

  /// Restores model, optimiser and place from the file, if there is one; false: there is none. Several ranks all call
  /// it, and get what the first one has, its own values where there is no file; each then has a file of its own.
  /// Throws UsageError for a damaged file, for one of another run, and on rank 0 if another rank trains another run.
  bool resume(RunPlace& place);
  /// Removes the file, if there is one; a symbolic link to it stays.
  void forget() const;
  /// Saves if a minute (or `always`) has passed since the last time; of several ranks the first alone, but `always`.
  void save(const RunPlace& place, bool always = false);

  const std::filesystem::path& file() const { return file_; }

  /// Texts that travel with the checkpoint (vocabularies).
  std::map<std::string, std::string> texts;
  /// Who trains the model together.
  Ranks ranks;
  /// Other living tensors of the run, by section (an average of weights): saved and restored as the model is.
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

/// The texts of a checkpoint, and its weights into `model` once `build` has made it from them: for use after
/// training.
TrainingState load_checkpoint(const std::filesystem::path& file);

}  // namespace tapestry::kit
