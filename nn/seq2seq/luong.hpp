// Luong's decoder (Luong, Pham & Manning 2015): step, then attend.
#pragma once

#include "nn/seq2seq/decoder.hpp"

namespace tapestry {

/// h_t = RNN([e_t; h̃_{t−1}], h_{t−1}); c_t = attend(h_t, h); h̃_t = tanh(W_c [c_t; h_t]) (equation 5, the
/// attention vector); logits = W_s h̃_t + b. Feeding h̃_{t−1} back in (section 3.3) is input feeding; without
/// it the whole recurrence runs first, and all words attend at once (if the score can do that). h₀ = tanh(W
/// code). The score is `general` unless another is given.
class LuongDecoder : public Decoder {
 public:
  LuongDecoder(Parent parent, EncodedWidths source, const DecoderOptions& options);
  LuongDecoder(EncodedWidths source, const DecoderOptions& options)
      : LuongDecoder(Parent{}, source, options) {}

  PreparedKV prepare(const Encoded& source) const override;
  DecoderState start(const Encoded& source) const override;
  AutoregressiveModel::Step step(const Indices& words, DecoderState& state,
                                 const PreparedKV& memory) const override;

  Attention attention;
  /// W_c: no bias.
  Linear combine;
  /// W_s
  Linear output;

 private:
  Tensor forced(const Indices& words, const Encoded& source) const override;
  /// h̃ for hidden (B, T, H), before dropout.
  AttentionOutput look(const Tensor& embedded, const Tensor& hidden, ScoreState& state,
                       const PreparedKV& memory) const;
  /// One step with input feeding or without: `gates` is W_e e + b; returns h̃ (B, readout).
  AttentionOutput advance(const Tensor& embedded, const Tensor& gates, const Tensor& fed_weight,
                          DecoderState& state, const PreparedKV& memory) const;

  bool input_feeding_, word_in_query_;
};

}  // namespace tapestry
