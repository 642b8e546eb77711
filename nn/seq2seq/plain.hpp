// A decoder without attention: it receives the source as one vector.
#pragma once

#include "nn/seq2seq/decoder.hpp"

namespace tapestry {

/// Recurrent decoder without attention:
///     s₀ = tanh(W code)
///     s_t = GRU(e_t, s_{t−1})                          Sutskever, Vinyals & Le 2014, or
///     s_t = GRU([e_t; code], s_{t−1})                  Cho et al. 2014, with code_every_step
///     logits = output(tanh(readout(s_t)))
/// The width of the code does not depend on the length of the source.
class PlainDecoder : public Decoder {
 public:
  PlainDecoder(Parent parent, EncodedWidths source, const DecoderOptions& options);
  PlainDecoder(EncodedWidths source, const DecoderOptions& options)
      : PlainDecoder(Parent{}, source, options) {}

  /// Returns the code, (B, 1, width), as the only key and value.
  PreparedKV prepare(const Encoded& source) const override;
  DecoderState start(const Encoded& source) const override;
  AutoregressiveModel::Step step(const Indices& words, DecoderState& state,
                                 const PreparedKV& memory) const override;

  /// Layer of `readout` units between state and vocabulary, and the vocabulary projection.
  Linear readout, output;

 private:
  Tensor forced(const Indices& words, const Encoded& source) const override;
  Tensor logits(const Tensor& states) const;

  bool code_every_step_;
};

}  // namespace tapestry
