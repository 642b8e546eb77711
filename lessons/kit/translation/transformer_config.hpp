// Transformer translators by description: how deep, how wide, which decoder.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "nn/transformer/translator.hpp"
#include "optim/training_state.hpp"

namespace tapestry::kit {

/// What a translator is. Encoder and decoder are alike.
struct TransformerConfig {
  Size layers = 3, width = 192, heads = 4;
  /// Units of the feed-forward.
  Size hidden = 384;
  /// Of words with their places; of what each part of a block adds, its weights and its units.
  double word_dropout = 0, dropout = 0;
  /// Bahdanau's decoder with a state as wide as the encoder, in place of the transformer's.
  bool recurrent_decoder = false;

  /// For tables and names: which decoder it is.
  std::string label() const { return recurrent_decoder ? "recurrent decoder" : "transformer"; }
};

TransformerTranslatorOptions options_of(const TransformerConfig& config, Size source_words,
                                        Size target_words);
std::unique_ptr<SequenceModel> make_translator(const TransformerConfig& config, Size source_words,
                                               Size target_words);

/// The config as texts for a checkpoint, and back (dropout is of no use after training, and left out). A text
/// that is missing, no number, or larger than the checkpoint's own tensors throws Error.
std::map<std::string, std::string> texts_of(const TransformerConfig& config);
TransformerConfig transformer_plan_of(const TrainingState& saved);

}  // namespace tapestry::kit
