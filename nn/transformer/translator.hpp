// Two stacks joined by cross-attention: the transformer of the paper (Vaswani et al. 2017).
#pragma once

#include "nn/seq2seq/translator.hpp"
#include "nn/transformer/encoder.hpp"

namespace tapestry {

struct TransformerTranslatorOptions {
  TransformerOptions encoder, decoder;  // of the two stacks
  /// One matrix for the words of both languages; wants one vocabulary.
  bool shared_words = false;
};

/// Encoder, and a causal decoder whose blocks also attend to what the encoder read. Searched with a cache.
class TransformerTranslator : public SequenceModel {
 public:
  TransformerTranslator(Parent parent, const TransformerTranslatorOptions& options);
  explicit TransformerTranslator(const TransformerTranslatorOptions& options)
      : TransformerTranslator(Parent{}, options) {}

  /// Teacher forcing: a forcing ratio below 1 throws, since all places are computed at once.
  Tensor operator()(const Indices& source, const ValidLengths& lengths, const Indices& words,
                    double forcing = 1) const override;
  std::unique_ptr<AutoregressiveModel> begin(const Indices& source,
                                             const ValidLengths& lengths) const override;

  TransformerEncoder encoder;
  /// The decoder's words and places, its blocks, and the layer to logits.
  TransformerInput input;
  TransformerStack stack;
  Linear output;
};

}  // namespace tapestry
