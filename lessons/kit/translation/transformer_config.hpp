// Configurations of transformer translators: depth, widths, decoder.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "nn/transformer/translator.hpp"
#include "optim/training_state.hpp"

namespace tapestry::kit {

/// Configuration of a transformer translator. Encoder and decoder have the same sizes.
struct TransformerConfig {
  Size layers = 3, width = 192, heads = 4;
  /// Hidden width of the feed-forward layers.
  Size hidden = 384;
  /// Dropout of the embeddings; dropout in the blocks: residual branches, attention weights and hidden units.
  double word_dropout = 0, dropout = 0;
  /// Use Bahdanau's decoder, with a state as wide as the encoder, instead of the transformer's.
  bool recurrent_decoder = false;

  /// Returns the kind of decoder, for tables and names.
  std::string label() const { return recurrent_decoder ? "recurrent decoder" : "transformer"; }
};

/// Return the options of the transformer model, and create the translator.
TransformerTranslatorOptions options_of(const TransformerConfig& config, Size source_words,
                                        Size target_words);
std::unique_ptr<SequenceModel> make_translator(const TransformerConfig& config, Size source_words,
                                               Size target_words);

/// Save the config as texts of a checkpoint, and load it. Dropout is not needed after training and is left out. Loading
/// throws Error for a text that is missing, is not a number, or is larger than the checkpoint's tensors.
std::map<std::string, std::string> texts_of(const TransformerConfig& config);
TransformerConfig transformer_plan_of(const TrainingState& saved);

}  // namespace tapestry::kit
