// Bahdanau's decoder (Bahdanau, Cho & Bengio 2015), which attends before each recurrent step.
#pragma once

#include "nn/seq2seq/decoder.hpp"

namespace tapestry {

/// Recurrent decoder with attention over the encoder states h:
///     s₀ = tanh(W ←h₁)
///     c_t = attend(s_{t−1}, h)
///     s_t = GRU([e_t; c_t], s_{t−1})                   e_t: embedding of the previous word
///     logits = output(readout([s_t; c_t; e_t]))        readout: a tanh layer or maxout
/// The default score is additive.
class BahdanauDecoder : public Decoder {
 public:
  BahdanauDecoder(Parent parent, EncodedWidths source, const DecoderOptions& options);
  BahdanauDecoder(EncodedWidths source, const DecoderOptions& options)
      : BahdanauDecoder(Parent{}, source, options) {}

  PreparedKV prepare(const Encoded& source) const override;
  DecoderState start(const Encoded& source) const override;
  AutoregressiveModel::Step step(const Indices& words, DecoderState& state,
                                 const PreparedKV& memory) const override;

  Attention attention;
  Linear readout, output;

 private:
  Tensor forced(const Indices& words, const Encoded& source) const override;
  /// Attends, then runs one recurrent step and advances the state. `gates` (B, gates · H) is W_e e + b. Returns the
  /// context (B, S) and the weights.
  AttentionOutput advance(const Tensor& gates, const Tensor& context_weight, DecoderState& state,
                          const PreparedKV& memory) const;
  Tensor logits(const Tensor& states, const Tensor& contexts, const Tensor& words) const;

  ReadoutKind readout_kind_;
};

}  // namespace tapestry
