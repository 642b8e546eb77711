#include "nn/seq2seq/bahdanau.hpp"

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry {

BahdanauDecoder::BahdanauDecoder(Parent parent, EncodedWidths source, const DecoderOptions& options)
    : Decoder(std::move(parent), options, source.final, source.states),
      attention{{*this, "attention"},
                options.score.value_or(additive(options.hidden, source.states, options.attention)),
                options.attend},
      readout{{*this, "readout"},
              options.hidden + source.states + options.embedding,
              options.readout_kind == ReadoutKind::maxout ? 2 * options.readout : options.readout,
              Bias::yes,
              fan_in_uniform},
      output{{*this, "output"}, options.readout, options.vocabulary, Bias::yes, fan_in_uniform},
      readout_kind_(options.readout_kind) {
  if (options.tied) output.weight.tie(embedding.weight);
}

PreparedKV BahdanauDecoder::prepare(const Encoded& source) const {
  return attention.prepare(source.states, source.states, source.lengths);
}

DecoderState BahdanauDecoder::start(const Encoded& source) const {
  return {first_state(source.final.back().hidden), {}, {}};
}

AttentionOutput BahdanauDecoder::advance(const Tensor& gates, const Tensor& context_weight,
                                         DecoderState& state, const PreparedKV& memory) const {
  const AttentionOutput attended = attention(unsqueeze(state.recurrent.hidden, 1), memory, state.attention);
  const Tensor context = squeeze(attended.context, 1);
  state.recurrent = cell.from_gates(gates + linear(context, context_weight), state.recurrent);
  return {context, attended.weights};
}

Tensor BahdanauDecoder::logits(const Tensor& states, const Tensor& contexts, const Tensor& words) const {
  Tensor read = readout(concat({states, contexts, words}, -1));
  if (readout_kind_ == ReadoutKind::tanh) {
    read = tanh(read);
  } else {
    Dims pairs = read.shape();
    pairs.back() /= 2;
    pairs.push_back(2);
    read = max(reshape(read, pairs), {-1});
  }
  return output(dropout(read));
}

Tensor BahdanauDecoder::forced(const Indices& words, const Encoded& source) const {
  const PreparedKV memory = prepare(source);
  DecoderState state = start(source);
  // Only the recurrence runs word by word. The layers before and after it are applied to the whole sequence
  // at once.
  const Tensor embedded = dropout(embedding(words));
  const Tensor gates = word_gates(embedded), context_weight = extra_weight();
  PoolVector<Tensor> states, contexts;
  for (Size t = 0; t < words.shape()[1]; ++t) {
    contexts.push_back(advance(select(gates, 1, t), context_weight, state, memory).context);
    states.push_back(state.recurrent.hidden);
  }
  return logits(stack(states, 1), stack(contexts, 1), embedded);
}

AutoregressiveModel::Step BahdanauDecoder::step(const Indices& words, DecoderState& state,
                                                const PreparedKV& memory) const {
  const Tensor embedded = dropout(embedding(words));
  const AttentionOutput attended = advance(word_gates(embedded), extra_weight(), state, memory);
  return {logits(state.recurrent.hidden, attended.context, embedded), squeeze(attended.weights, 1)};
}

}  // namespace tapestry
