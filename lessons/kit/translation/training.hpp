// Training of a translator on a corpus: batches, schedule, weight average, checkpoints, log and BLEU.
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
  /// Description of the run without its corpus. A checkpoint of another run, or of other text, is rejected.
  std::string name;
  /// Folder for checkpoint.safetensors and log.csv.
  std::filesystem::path out;
  /// Delete an existing checkpoint and start again.
  bool fresh = false;
  std::uint64_t seed = 1;
  Size steps = 0;
  /// Number of steps between evaluations of greedy BLEU on validation and test.
  Size steps_per_look = 0;
  /// Number of sentences in a batch.
  Size batch = 64;
  double smoothing = 0.1;
  double rate = 1e-3;
  /// Decay rate β₂ of Adam's second moment.
  double beta2 = 0.999;
  /// Shares of the steps with warm-up and with a constant rate. A cosine decay to 1/50 of the rate follows.
  double rise = 0.025, hold = 0;
  /// Decay of the weight average, which is updated every 8 steps and used for evaluation and at the end; 0: none.
  double average = 0;
  /// Ranks that train together. One rank gives the same result as no ranks.
  Ranks ranks = {};
  /// Texts of the checkpoint in addition to the lexicons, from which the model can be rebuilt.
  std::map<std::string, std::string> texts = {};
};

/// Trains the model, or resumes from the checkpoint of the same run. All randomness depends only on the seed, the step
/// and the part of a batch. A killed and resumed run therefore ends with the same bits as an uninterrupted one on the
/// same number of ranks; it may also resume on a different number. At the end the model holds the averaged weights, if
/// there is an average. Prints steps, words, time and peak memory, and returns the final position.
RunPlace train_translator(SequenceModel& model, const Corpus& corpus, const TranslatorTraining& how);

/// Returns the weights of a checkpoint for inference: the average if it has one, otherwise the model's weights.
const State& trained_weights(const TrainingState& saved);

}  // namespace tapestry::kit
