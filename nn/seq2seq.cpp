#include "nn/seq2seq.hpp"

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/recurrent.hpp"
#include "core/ops/views.hpp"
#include "core/tape.hpp"

namespace tapestry {

namespace {

Tensor rows_of(const Tensor& x, const std::vector<Size>& rows) {
  return x.defined() ? embedding(x, Indices(rows, {static_cast<Size>(rows.size())})) : x;
}

/// A translator in the middle of its sentences.
class Translating final : public StepModel {
 public:
  Translating(const BahdanauDecoder& decoder, const Encoded& source)
      : decoder_(decoder), memory_(decoder.prepare(source)), state_(decoder.start(source)) {
    for (Size i = 0; i < source.states.size(0); ++i) sentences_.push_back(i);
  }

  Size rows() const override { return static_cast<Size>(sentences_.size()); }

  Step step(const Indices& words) override { return decoder_.step(words, state_, memory_); }

  void keep_rows(const std::vector<Size>& rows) override {
    std::vector<Size> sentences;
    for (Size row : rows) sentences.push_back(sentences_.at(static_cast<std::size_t>(row)));
    // Hypotheses of one sentence share what was read: it moves only when sentences do.
    if (sentences != sentences_) memory_ = select_rows(memory_, rows);
    sentences_ = std::move(sentences);
    state_.hidden = rows_of(state_.hidden, rows);
    state_.attention.weights = rows_of(state_.attention.weights, rows);
    state_.attention.memory = rows_of(state_.attention.memory, rows);
  }

 private:
  const BahdanauDecoder& decoder_;
  AttentionMemory memory_;
  DecoderState state_;
  std::vector<Size> sentences_;  // of each row
};

}  // namespace

Encoder::Encoder(Place place, const EncoderOptions& options)
    : Module(std::move(place)),
      embedding{{*this, "embedding"}, options.vocabulary, options.embedding, options.padding},
      dropout{{*this, "dropout"}, options.dropout},
      rnn{{*this, "rnn"}, options.cell, options.embedding, options.hidden, options.recurrent} {}

Encoded Encoder::operator()(const Indices& source, const ValidLengths& lengths) const {
  if (source.rank() != 2)
    fail("the encoder \"{}\" wants ids (batch, time), not {}", full_name(), to_string(source.shape()));
  RecurrentOutput read = rnn(dropout(embedding(source)), lengths);
  return {std::move(read.states), std::move(read.final), lengths};
}

BahdanauDecoder::BahdanauDecoder(Place place, Size memory_width, Size start_width,
                                 const DecoderOptions& options)
    : Module(std::move(place)),
      embedding{{*this, "embedding"}, options.vocabulary, options.embedding, options.padding},
      dropout{{*this, "dropout"}, options.dropout},
      initial{{*this, "initial"}, start_width, options.hidden},
      attention{{*this, "attention"},
                options.score.value_or(additive(options.hidden, memory_width, options.attention))},
      cell{{*this, "cell"}, options.embedding + memory_width, options.hidden},
      readout{{*this, "readout"}, options.hidden + memory_width + options.embedding, options.readout},
      output{{*this, "output"}, options.readout, options.vocabulary} {}

AttentionMemory BahdanauDecoder::prepare(const Encoded& source) const {
  return attention.prepare(source.states, source.states, source.lengths);
}

DecoderState BahdanauDecoder::start(const Encoded& source) const {
  return {tanh(initial(source.final.back().hidden)), {}};
}

Tensor BahdanauDecoder::word_weight() const { return slice(cell.weight_ih, 1, 0, embedding.weight.size(1)); }

Tensor BahdanauDecoder::context_weight() const {
  return slice(cell.weight_ih, 1, embedding.weight.size(1), cell.weight_ih.size(1));
}

Attended BahdanauDecoder::advance(const Tensor& word_gates, const Tensor& context_weight, DecoderState& state,
                                  const AttentionMemory& memory) const {
  const Attended looked = attention(unsqueeze(state.hidden, 1), memory, state.attention);
  const Tensor context = squeeze(looked.context, 1);
  const Tensor gates = word_gates + linear(context, context_weight);
  state.hidden = gru_step(gates, state.hidden, cell.weight_hh, cell.bias_hh);
  return {context, looked.weights};
}

Tensor BahdanauDecoder::logits(const Tensor& states, const Tensor& contexts, const Tensor& words) const {
  return output(dropout(tanh(readout(concat({states, contexts, words}, -1)))));
}

Tensor BahdanauDecoder::operator()(const Indices& words, const Encoded& source) const {
  if (words.rank() != 2 || words.shape()[1] == 0 || words.shape()[0] != source.states.size(0))
    fail("the decoder \"{}\" wants words (batch, time) for {} source rows, not {}", full_name(),
         source.states.size(0), to_string(words.shape()));
  const AttentionMemory memory = prepare(source);
  DecoderState state = start(source);
  // Only the recurrence goes word by word; what comes before and after it is one product for the whole
  // sequence.
  const Tensor embedded = dropout(embedding(words));
  const Tensor word_gates = linear(embedded, word_weight(), cell.bias_ih);
  const Tensor for_context = context_weight();
  std::vector<Tensor> states, contexts;
  for (Size t = 0; t < words.shape()[1]; ++t) {
    contexts.push_back(advance(select(word_gates, 1, t), for_context, state, memory).context);
    states.push_back(state.hidden);
  }
  return logits(stack(states, 1), stack(contexts, 1), embedded);
}

StepModel::Step BahdanauDecoder::step(const Indices& words, DecoderState& state,
                                      const AttentionMemory& memory) const {
  const Tensor embedded = dropout(embedding(words));
  const Attended looked =
      advance(linear(embedded, word_weight(), cell.bias_ih), context_weight(), state, memory);
  return {logits(state.hidden, looked.context, embedded), squeeze(looked.weights, 1)};
}

Translator::Translator(Place place, const TranslatorOptions& options)
    : Module(std::move(place)),
      encoder{{*this, "encoder"}, options.encoder},
      decoder{{*this, "decoder"}, encoder.width(), options.encoder.hidden, options.decoder} {}

std::unique_ptr<StepModel> Translator::begin(const Indices& source, const ValidLengths& lengths) const {
  if (training())
    fail("the translator is in training mode, where dropout is on: call eval() before a search");
  return std::make_unique<Translating>(decoder, encoder(source, lengths));
}

}  // namespace tapestry
