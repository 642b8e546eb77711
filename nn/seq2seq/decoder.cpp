#include "nn/seq2seq/decoder.hpp"

#include <cmath>

#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/pool_vector.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

namespace {

/// Returns for each row the word of `given` with probability `forcing`, and otherwise that of `written`.
Indices mix(const Indices& given, const Indices& written, double forcing) {
  const Stream coins = next_stream();
  std::vector<std::int64_t> words = given.to_vector();
  const std::vector<std::int64_t> own = written.to_vector();
  for (std::size_t row = 0; row < words.size(); ++row)
    if (coins.uniform(row) >= forcing) words[row] = own[row];
  return Indices(words, given.shape());
}

}  // namespace

Decoder::Decoder(Parent parent, const DecoderOptions& options, Size start_width, Size extra_width)
    : Module(std::move(parent)),
      embedding{
          {*this, "embedding"},
          options.vocabulary,
          options.embedding,
          options.padding,
          // Tied rows are also output weights, so they get a norm near 1. Other rows get elements near 1.
          normal(options.tied ? 1 / std::sqrt(static_cast<double>(options.embedding)) : 1)},
      dropout{{*this, "dropout"}, options.dropout},
      initial{{*this, "initial"}, start_width, options.hidden},
      cell{{*this, "cell"}, options.cell, options.embedding + extra_width, options.hidden} {}

RecurrentState Decoder::first_state(const Tensor& x) const {
  const Tensor hidden = tanh(initial(x));
  return cell.kind() == CellKind::lstm ? RecurrentState(hidden, zeros(hidden.shape(), hidden.dtype()))
                                       : RecurrentState(hidden);
}

Tensor Decoder::word_gates(const Tensor& embedded) const {
  return linear(embedded, slice(cell.weight_ih, 1, 0, embedding.weight.size(1)), cell.bias_ih);
}

Tensor Decoder::extra_weight() const {
  return slice(cell.weight_ih, 1, embedding.weight.size(1), cell.weight_ih.size(1));
}

Tensor Decoder::operator()(const Indices& words, const Encoded& source, double forcing) const {
  if (words.rank() != 2 || words.shape()[1] == 0 || words.shape()[0] != source.states.size(0))
    fail("[decoder{}] words must be (batch, time), at least one step for {} source rows, got {}", in_quotes(),
         source.states.size(0), to_string(words.shape()));
  if (!(forcing >= 0 && forcing <= 1))
    fail("[decoder{}] the forcing ratio must be from 0 to 1, got {}", in_quotes(), forcing);
  if (forcing == 1) return forced(words, source);
  const PreparedKV memory = prepare(source);
  DecoderState state = start(source);
  PoolVector<Tensor> logits;
  Indices input = words.column(0);
  for (Size t = 0; t < words.shape()[1]; ++t) {
    if (t > 0) input = mix(words.column(t), argmax(logits.back().detach()), forcing);
    logits.push_back(step(input, state, memory).logits);
  }
  return stack(logits, 1);
}

}  // namespace tapestry
