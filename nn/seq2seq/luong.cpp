#include "nn/seq2seq/luong.hpp"

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry {

LuongDecoder::LuongDecoder(Parent parent, EncodedWidths source, const DecoderOptions& options)
    : Decoder(std::move(parent), options, source.states, options.input_feeding ? options.readout : 0),
      attention{{*this, "attention"},
                options.score.value_or(general(options.hidden, source.states)),
                options.attend},
      combine{{*this, "combine"}, source.states + options.hidden, options.readout, Bias::no, fan_in_uniform},
      output{{*this, "output"}, options.readout, options.vocabulary, Bias::yes, fan_in_uniform},
      input_feeding_(options.input_feeding),
      word_in_query_(options.word_in_query) {
  if (options.tied) output.weight.tie(embedding.weight);
}

PreparedKV LuongDecoder::prepare(const Encoded& source) const {
  return attention.prepare(source.states, source.states, source.lengths);
}

DecoderState LuongDecoder::start(const Encoded& source) const {
  DecoderState state{first_state(source.code()), {}, {}};
  if (input_feeding_)
    state.fed = zeros({source.states.size(0), combine.weight.shape()[0]}, source.states.dtype());
  return state;
}

AttentionOutput LuongDecoder::attend_and_combine(const Tensor& embedded, const Tensor& hidden,
                                                 ScoreState& state, const PreparedKV& memory) const {
  const Tensor query = word_in_query_ ? concat({embedded, hidden}, -1) : hidden;
  const AttentionOutput attended = attention(query, memory, state);
  return {tanh(combine(concat({attended.context, hidden}, -1))), attended.weights};
}

AttentionOutput LuongDecoder::advance(const Tensor& embedded, const Tensor& gates, const Tensor& fed_weight,
                                      DecoderState& state, const PreparedKV& memory) const {
  state.recurrent =
      cell.from_gates(input_feeding_ ? gates + linear(state.fed, fed_weight) : gates, state.recurrent);
  const AttentionOutput attended = attend_and_combine(
      unsqueeze(embedded, 1), unsqueeze(state.recurrent.hidden, 1), state.attention, memory);
  const Tensor vector = squeeze(attended.context, 1);
  if (input_feeding_) state.fed = vector;
  return {vector, attended.weights};
}

Tensor LuongDecoder::forced(const Indices& words, const Encoded& source) const {
  const PreparedKV memory = prepare(source);
  DecoderState state = start(source);
  const Tensor embedded = dropout(embedding(words));
  const Tensor gates = word_gates(embedded);
  if (!input_feeding_ && !attention.score().one_at_a_time()) {
    const Tensor hidden = cell.states_from_gates(gates, state.recurrent);
    return output(dropout(attend_and_combine(embedded, hidden, state.attention, memory).context));
  }
  const Tensor fed_weight = extra_weight();
  PoolVector<Tensor> vectors;
  for (Size t = 0; t < words.shape()[1]; ++t)
    vectors.push_back(
        advance(select(embedded, 1, t), select(gates, 1, t), fed_weight, state, memory).context);
  return output(dropout(stack(vectors, 1)));
}

AutoregressiveModel::Step LuongDecoder::step(const Indices& words, DecoderState& state,
                                             const PreparedKV& memory) const {
  const Tensor embedded = dropout(embedding(words));
  const AttentionOutput attended = advance(embedded, word_gates(embedded), extra_weight(), state, memory);
  return {output(dropout(attended.context)), squeeze(attended.weights, 1)};
}

}  // namespace tapestry
