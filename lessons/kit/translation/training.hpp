// Training a translator on a corpus: batches, schedule, averages, checkpoints, log, and BLEU on the way.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lessons/kit/program/ranks.hpp"
#include "lessons/kit/train/resume.hpp"
#include "lessons/kit/translation/corpus.hpp"
#include "optim/training_state.hpp"

namespace tapestry::kit {

struct TranslatorTraining {
  /// What this run is, in words, but for its corpus: a checkpoint of another run is refused, and one of this
  /// run on other text.
  std::string name;
  /// Where checkpoint.safetensors and log.csv go.
  std::filesystem::path out;
  /// Forget the checkpoint that may be there.
  bool fresh = false;
  std::uint64_t seed = 1;
  Size steps = 0;
  /// Greedy BLEU on validation and test after so many steps.
  Size steps_per_look = 0;
  /// Sentences in a batch.
  Size batch = 64;
  double smoothing = 0.1;
  double rate = 1e-3;
  /// Adam's memory of squares.
  double beta2 = 0.999;
  /// Shares of the steps: the rate rises, then stays; the rest is a cosine down to a fiftieth.
  double rise = 0.025, hold = 0;
  /// Of the average of weights that is taken every eighth step; 0: none. Looks and the end use the average.
  double average = 0;
  /// Who trains it together. One rank alone makes what no rank makes.
  Ranks ranks = {};
  /// Texts for the checkpoint beside the lexicons: what it takes to build the model again.
  std::map<std::string, std::string> texts = {};
};

/// Trains, or goes on from the checkpoint of this very run. Everything random depends on the seed, the step and the
/// part of a batch alone, so a run that was killed ends with the same weights, bit for bit, as one that was not, on as
/// many ranks; any number may go on. At the end the model holds the averaged weights, if averages are taken. Prints
/// what it cost, and returns where it ended: steps, words, seconds.
RunPlace train_translator(SequenceModel& model, const Corpus& corpus, const TranslatorTraining& how);

/// The weights of a checkpoint that are for use: the averages, if there are any.
const State& trained_weights(const TrainingState& saved);

}  // namespace tapestry::kit
