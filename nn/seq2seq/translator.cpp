#include "nn/seq2seq/translator.hpp"

#include "core/ops/join.hpp"

namespace tapestry {

namespace {

Tensor rows_of(const Tensor& x, const std::vector<Size>& rows) {
  return x.defined() ? embedding(x, Indices(rows, {static_cast<Size>(rows.size())})) : x;
}

class DecoderSearch final : public AutoregressiveModel {
 public:
  DecoderSearch(const Decoder& decoder, const Encoded& source)
      : decoder_(decoder), memory_(decoder.prepare(source)), state_(decoder.start(source)) {
    for (Size i = 0; i < source.states.size(0); ++i) sentences_.push_back(i);
  }

  Size rows() const override { return static_cast<Size>(sentences_.size()); }

  Step step(const Indices& words) override { return decoder_.step(words, state_, memory_); }

  void reorder_rows(const std::vector<Size>& rows) override {
    std::vector<Size> sentences;
    for (Size row : rows) sentences.push_back(sentences_.at(static_cast<std::size_t>(row)));
    // Hypotheses of one sentence share the encoded source, so it is reordered only if the sentences change.
    if (sentences != sentences_) memory_ = select_rows(memory_, rows);
    sentences_ = std::move(sentences);
    for (Tensor* part : {&state_.recurrent.hidden, &state_.recurrent.cell, &state_.fed,
                         &state_.attention.weights, &state_.attention.memory})
      *part = rows_of(*part, rows);
  }

 private:
  const Decoder& decoder_;
  PreparedKV memory_;
  DecoderState state_;
  std::vector<Size> sentences_;  // sentence of each row
};

}  // namespace

std::unique_ptr<AutoregressiveModel> detail::begin_search(const Module& model, const Decoder& decoder,
                                                          const Encoded& source) {
  model.require_eval("translator");
  return std::make_unique<DecoderSearch>(decoder, source);
}

}  // namespace tapestry
