#include "nn/seq2seq/encoder.hpp"

#include "core/ops/join.hpp"

namespace tapestry {

Tensor Encoded::code() const {
  // The final states of a bidirectional last layer are the last two, →h_T and ←h_1. A TransformerEncoder has only one.
  const Size directions = states.size(-1) / final.back().hidden.size(-1);
  PoolVector<Tensor> ends;
  for (std::size_t i = final.size() - static_cast<std::size_t>(directions); i < final.size(); ++i)
    ends.push_back(final[i].hidden);
  return ends.size() == 1 ? ends[0] : concat(ends, -1);
}

Encoder::Encoder(Parent parent, const EncoderOptions& options)
    : Module(std::move(parent)),
      embedding{{*this, "embedding"}, options.vocabulary, options.embedding, options.padding},
      dropout{{*this, "dropout"}, options.dropout},
      rnn{{*this, "rnn"}, options.cell, options.embedding, options.hidden, options.recurrent} {}

Encoded Encoder::encode(const Indices& source, const ValidLengths& lengths) const {
  if (source.rank() != 2)
    fail("[encoder{}] ids must be (batch, time), got {}", in_quotes(), to_string(source.shape()));
  RecurrentOutput read = rnn(dropout(embedding(source)), lengths);
  return {std::move(read.states), std::move(read.final), lengths};
}

}  // namespace tapestry
