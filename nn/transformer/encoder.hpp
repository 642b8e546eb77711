// Transformer encoder with attention in both directions (BERT and similar models).
#pragma once

#include "nn/seq2seq/encoder.hpp"
#include "nn/transformer/input.hpp"

namespace tapestry {

/// Maps tokens to hidden states that depend on the whole sequence (Vaswani et al. 2017, left side of
/// figure 1; Devlin et al. 2019).
class TransformerEncoder : public Module {
 public:
  /// Options type, under the name that Seq2Seq expects.
  using Options = TransformerOptions;
  TransformerEncoder(Parent parent, const TransformerOptions& options);
  explicit TransformerEncoder(const TransformerOptions& options) : TransformerEncoder(Parent{}, options) {}

  /// ids (B, T), with one length for each row or none, and segment ids (B, T) or none → states (B, T, width),
  /// 0 in padding.
  Tensor operator()(const Indices& ids, const ValidLengths& lengths = {}, const Indices& segments = {}) const;
  /// Returns the result in the form of a recurrent encoder, for the decoders of nn/seq2seq. The final state
  /// is the mean of the states.
  Encoded encode(const Indices& ids, const ValidLengths& lengths = {}) const;
  /// Returns the widths that a decoder needs.
  EncodedWidths widths() const { return {input.words.weight.size(1), input.words.weight.size(1)}; }

  TransformerInput input;
  TransformerStack stack;
};

/// Returns the mean over the valid positions of states (B, T, width), which are 0 in padding → (B, width); 0
/// for an empty row.
Tensor mean_over_time(const Tensor& states, const ValidLengths& lengths);

}  // namespace tapestry
