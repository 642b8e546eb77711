// Recurrent translators by description: which score, which encoder, how large.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/seq2seq/translator.hpp"
#include "optim/training_state.hpp"

namespace tapestry::kit {

/// The names that --score and --encoder take.
inline const std::vector<std::string> kTranslatorScores = {"additive", "general", "scaled_dot", "none"};
inline const std::vector<std::string> kTranslatorEncoders = {"gru", "lstm", "rnn"};

/// What a translator is.
struct TranslatorConfig {
  /// Of Bahdanau's decoder; "none": a decoder without attention, which gets the encoder's two ends at every
  /// step.
  std::string score = "additive";
  /// The encoder's cell; the decoder's is a GRU.
  std::string encoder = "gru";
  Size embedding = 256;
  /// Of the decoder's state and of each of the encoder's directions; but under scaled_dot, where query and
  /// key must be equally wide, half of it each way.
  Size hidden = 256;
  /// Width of the layer before the vocabulary; 0: as wide as the embedding.
  Size readout = 0;
  double dropout = 0;
  bool tied = false;

  bool attends() const { return score != "none"; }
  /// For a picture.
  std::string label() const { return attends() ? score : "no attention"; }
};

/// Throws UsageError for sizes that do not go together.
std::unique_ptr<SequenceModel> make_translator(const TranslatorConfig& config, Size source_words,
                                               Size target_words);

/// The config as texts for a checkpoint, and back (dropout is of no use after training, and left out). A text
/// that is missing, no number, or larger than the checkpoint's own tensors throws Error.
std::map<std::string, std::string> texts_of(const TranslatorConfig& config);
TranslatorConfig translator_plan_of(const TrainingState& saved);

/// How many weights each part of a model has, by the first two names of each: {"encoder.rnn", 789504}, …
std::vector<std::pair<std::string, Size>> weights_by_part(const Module& model);
/// The same as lines for a person, with each part's share.
std::string table_of_parts(const Module& model);

}  // namespace tapestry::kit
