// A decoder without attention: all it gets of the source is one vector.
#pragma once

#include "nn/seq2seq/decoder.hpp"

namespace tapestry {

/// s₀ = tanh(W code); s_t = GRU(e_t, s_{t−1}) (Sutskever, Vinyals & Le 2014), or GRU([e_t; code], s_{t−1}) if
/// the code goes into every step (Cho et al. 2014); logits = output(tanh(readout(s_t))). The vector has one
/// width, however long the source.
class PlainDecoder : public Decoder {
 public:
  PlainDecoder(Parent parent, EncodedWidths source, const DecoderOptions& options);
  PlainDecoder(EncodedWidths source, const DecoderOptions& options)
      : PlainDecoder(Parent{}, source, options) {}

  /// The code, (B, 1, width), as the one key and value.
  PreparedKV prepare(const Encoded& source) const override;
  DecoderState start(const Encoded& source) const override;
  AutoregressiveModel::Step step(const Indices& words, DecoderState& state,
                                 const PreparedKV& memory) const override;

  /// Between state and vocabulary there is a layer of `readout` units.
  Linear readout, output;

 private:
  Tensor forced(const Indices& words, const Encoded& source) const override;
  Tensor logits(const Tensor& states) const;

  bool code_every_step_;
};

}  // namespace tapestry
