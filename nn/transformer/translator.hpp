// The encoder-decoder transformer of the original paper (Vaswani et al. 2017).
#pragma once

#include "nn/seq2seq/translator.hpp"
#include "nn/transformer/encoder.hpp"

namespace tapestry {

struct TransformerTranslatorOptions {
  TransformerOptions encoder, decoder;  // options of the two stacks
  /// Uses one embedding matrix for both languages, which then need one vocabulary.
  bool shared_words = false;
};

/// An encoder, and a causal decoder whose blocks attend to its states. Search uses a cache.
class TransformerTranslator : public SequenceModel {
 public:
  TransformerTranslator(Parent parent, const TransformerTranslatorOptions& options);
  explicit TransformerTranslator(const TransformerTranslatorOptions& options)
      : TransformerTranslator(Parent{}, options) {}

  /// Teacher forcing only: all positions are computed at once, so a forcing ratio other than 1 throws.
  Tensor operator()(const Indices& source, const ValidLengths& lengths, const Indices& words,
                    double forcing = 1) const override;
  std::unique_ptr<AutoregressiveModel> begin(const Indices& source,
                                             const ValidLengths& lengths) const override;

  TransformerEncoder encoder;
  /// Decoder: token embeddings with positions, blocks, and the layer that computes logits.
  TransformerInput input;
  TransformerStack stack;
  Linear output;
};

}  // namespace tapestry
