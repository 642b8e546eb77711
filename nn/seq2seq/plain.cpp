#include "nn/seq2seq/plain.hpp"

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

PlainDecoder::PlainDecoder(Parent parent, EncodedWidths source, const DecoderOptions& options)
    : Decoder(std::move(parent), options, source.states, options.code_every_step ? source.states : 0),
      readout{{*this, "readout"}, options.hidden, options.readout, Bias::yes, fan_in_uniform},
      output{{*this, "output"}, options.readout, options.vocabulary, Bias::yes, fan_in_uniform},
      code_every_step_(options.code_every_step) {
  if (options.tied) output.weight.tie(embedding.weight);
}

PreparedKV PlainDecoder::prepare(const Encoded& source) const {
  const Tensor code = unsqueeze(source.code(), 1);
  return {code, code, {}, {}};
}

DecoderState PlainDecoder::start(const Encoded& source) const { return {first_state(source.code()), {}, {}}; }

Tensor PlainDecoder::logits(const Tensor& states) const { return output(dropout(tanh(readout(states)))); }

Tensor PlainDecoder::forced(const Indices& words, const Encoded& source) const {
  Tensor gates = word_gates(dropout(embedding(words)));
  if (code_every_step_) gates = gates + linear(unsqueeze(source.code(), 1), extra_weight());
  return logits(cell.states_from_gates(gates, start(source).recurrent));
}

AutoregressiveModel::Step PlainDecoder::step(const Indices& words, DecoderState& state,
                                             const PreparedKV& memory) const {
  Tensor gates = word_gates(dropout(embedding(words)));
  if (code_every_step_) gates = gates + linear(squeeze(memory.values, 1), extra_weight());
  state.recurrent = cell.from_gates(gates, state.recurrent);
  return {logits(state.recurrent.hidden), {}};
}

}  // namespace tapestry
