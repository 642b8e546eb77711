// A transformer that reads in both directions: an encoder (BERT and its kin).
#pragma once

#include "nn/seq2seq/encoder.hpp"
#include "nn/transformer/input.hpp"

namespace tapestry {

/// Words → vectors that have seen all the others (Vaswani et al. 2017, left side of figure 1; Devlin et al.
/// 2019).
class TransformerEncoder : public Module {
 public:
  /// As Seq2Seq asks for them.
  using Options = TransformerOptions;
  TransformerEncoder(Parent parent, const TransformerOptions& options);
  explicit TransformerEncoder(const TransformerOptions& options) : TransformerEncoder(Parent{}, options) {}

  /// ids (B, T) with one length for each row, or none → states (B, T, width), 0 in padding.
  Tensor operator()(const Indices& ids, const ValidLengths& lengths = {}, const Indices& segments = {}) const;
  /// As a recurrent encoder gives it, for the decoders of nn/seq2seq. The final state is the mean of the
  /// states.
  Encoded encode(const Indices& ids, const ValidLengths& lengths = {}) const;
  /// What a decoder behind it has to know.
  EncodedWidths widths() const { return {input.words.weight.size(1), input.words.weight.size(1)}; }

  TransformerInput input;
  TransformerStack stack;
};

/// Mean over the valid places of states (B, T, width) that are 0 in padding → (B, width); 0 for an empty row.
Tensor mean_over_time(const Tensor& states, const ValidLengths& lengths);

}  // namespace tapestry
