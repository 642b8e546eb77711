// Configurations of recurrent translators: attention score, encoder cell, sizes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/seq2seq/translator.hpp"
#include "optim/training_state.hpp"

namespace tapestry::kit {

/// Values of --score and --encoder.
inline const std::vector<std::string> kTranslatorScores = {"additive", "general", "scaled_dot", "none"};
inline const std::vector<std::string> kTranslatorEncoders = {"gru", "lstm", "rnn"};

/// Configuration of a recurrent translator.
struct TranslatorConfig {
  /// Attention score of Bahdanau's decoder. "none": a decoder without attention, which gets the encoder's two final
  /// states at every step.
  std::string score = "additive";
  /// Cell of the encoder; the decoder's is a GRU.
  std::string encoder = "gru";
  Size embedding = 256;
  /// Width of the decoder's state and of each direction of the encoder. With scaled_dot, each direction has half of it,
  /// because query and key must have the same width.
  Size hidden = 256;
  /// Width of the layer before the vocabulary; 0: the width of the embedding.
  Size readout = 0;
  double dropout = 0;
  bool tied = false;

  bool attends() const { return score != "none"; }
  /// Returns the label for pictures.
  std::string label() const { return attends() ? score : "no attention"; }
};

/// Creates the translator. Throws UsageError if --tied has different readout and embedding widths, or scaled_dot an odd
/// hidden width.
std::unique_ptr<SequenceModel> make_translator(const TranslatorConfig& config, Size source_words,
                                               Size target_words);

/// Save the config as texts of a checkpoint, and load it. Dropout is not needed after training and is left out. Loading
/// throws Error for a text that is missing, is not a number, or is larger than the checkpoint's tensors.
std::map<std::string, std::string> texts_of(const TranslatorConfig& config);
TranslatorConfig translator_plan_of(const TrainingState& saved);

/// Returns the number of weights of each part, where the first two names of a parameter identify the part:
/// {"encoder.rnn", 789504}, …
std::vector<std::pair<std::string, Size>> weights_by_part(const Module& model);
/// Returns the same as a printable table with the percentage of each part.
std::string table_of_parts(const Module& model);

}  // namespace tapestry::kit
