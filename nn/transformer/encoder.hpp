// Transformer encoder with bidirectional self-attention, as in BERT.
#pragma once

#include "nn/seq2seq/encoder.hpp"
#include "nn/transformer/input.hpp"

namespace tapestry {

/// Maps tokens to hidden states that depend on the whole sequence (Vaswani et al. 2017, left side of
/// figure 1; Devlin et al. 2019).
class TransformerEncoder : public Module {
 public:
  /// Required by Seq2Seq<E>.
  using Options = TransformerOptions;
  TransformerEncoder(Parent parent, const TransformerOptions& options);
  explicit TransformerEncoder(const TransformerOptions& options) : TransformerEncoder(Parent{}, options) {}

  /// ids (B, T) → states (B, T, width). `lengths` has one length for each row, or is empty if there is no padding; the
  /// states are 0 in padding. `segments` has segment ids (B, T), or is empty.
  Tensor operator()(const Indices& ids, const ValidLengths& lengths = {}, const Indices& segments = {}) const;
  /// Returns the states as an Encoded, for the decoders of nn/seq2seq. Its final state is mean_over_time() of the states.
  Encoded encode(const Indices& ids, const ValidLengths& lengths = {}) const;
  /// Returns the widths of states and final state; both are `width`.
  EncodedWidths widths() const { return {input.words.weight.size(1), input.words.weight.size(1)}; }

  TransformerInput input;
  TransformerStack stack;
};

/// Mean pooling: returns the mean of states (B, T, width) over the valid positions of each row, (B, width); 0 for an
/// empty row. The states must be 0 in padding. Without lengths, all positions are valid.
Tensor mean_over_time(const Tensor& states, const ValidLengths& lengths);

}  // namespace tapestry
