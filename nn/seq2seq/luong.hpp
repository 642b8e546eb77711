// Luong's decoder (Luong, Pham & Manning 2015), which attends after each recurrent step.
#pragma once

#include "nn/seq2seq/decoder.hpp"

namespace tapestry {

/// Recurrent decoder with attention over the encoder states h:
///     h₀ = tanh(W code), h_t = RNN([e_t; h̃_{t−1}], h_{t−1})
///     c_t = attend(h_t, h)
///     h̃_t = tanh(W_c [c_t; h_t])                       attention vector, equation 5
///     logits = W_s h̃_t + b
/// Input feeding (section 3.3) passes h̃_{t−1} to the next step. Without it, the whole recurrence runs first, and then
/// all words attend at once if the score supports that. The default score is `general`.
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
  /// W_c, without a bias.
  Linear combine;
  /// W_s
  Linear output;

 private:
  Tensor forced(const Indices& words, const Encoded& source) const override;
  /// Returns h̃ for hidden (B, T, H), before dropout, and the attention weights.
  AttentionOutput attend_and_combine(const Tensor& embedded, const Tensor& hidden, ScoreState& state,
                                     const PreparedKV& memory) const;
  /// Runs one step, with or without input feeding; `gates` is W_e e + b. Returns h̃ (B, readout) and weights.
  AttentionOutput advance(const Tensor& embedded, const Tensor& gates, const Tensor& fed_weight,
                          DecoderState& state, const PreparedKV& memory) const;

  bool input_feeding_, word_in_query_;
};

}  // namespace tapestry
