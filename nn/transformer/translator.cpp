#include "nn/transformer/translator.hpp"

#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry {

namespace {

constexpr Size kInitialCapacity = 32;  // tokens of a cache

class CachedTranslation final : public AutoregressiveModel {
 public:
  CachedTranslation(const TransformerTranslator& model, const Indices& source, const ValidLengths& lengths)
      : model_(model),
        memories_(model.stack.attend_to(model.encoder(source, lengths), lengths)),
        cache_(model.stack.cache(kInitialCapacity)) {
    for (Size i = 0; i < source.shape()[0]; ++i) sentences_.push_back(i);
  }

  Size rows() const override { return static_cast<Size>(sentences_.size()); }

  Step step(const Indices& words) override {
    // The alignment is the mean over the heads of the last block's cross-attention weights.
    const WeightRecorder recorder(model_.stack.blocks[model_.stack.blocks.size() - 1].cross->attention);
    const Tensor x = model_.input(words.reshape({words.shape()[0], 1}), cache_.length());
    const Tensor logits = squeeze(model_.output(model_.stack(x, cache_, memories_)), 1);
    Tensor weights = squeeze(recorder.weights().front(), -2);  // (rows, heads…, source)
    while (weights.rank() > 2) weights = mean(weights, {1});
    return {logits, weights};
  }

  void reorder_rows(const std::vector<Size>& rows) override {
    std::vector<Size> sentences;
    for (Size row : rows) sentences.push_back(sentences_.at(static_cast<std::size_t>(row)));
    // Hypotheses of one sentence share its prepared source, so it is reordered only if the sentences change.
    if (sentences != sentences_)
      for (PreparedKV& memory : memories_) memory = select_rows(memory, rows);
    sentences_ = std::move(sentences);
    cache_.reorder_rows(rows);
  }

 private:
  const TransformerTranslator& model_;
  PoolVector<PreparedKV> memories_;
  StackCache cache_;
  std::vector<Size> sentences_;  // sentence of each row
};

}  // namespace

TransformerTranslator::TransformerTranslator(Parent parent, const TransformerTranslatorOptions& options)
    : SequenceModel(std::move(parent)),
      encoder{{*this, "encoder"}, options.encoder},
      input{{*this, "input"}, options.decoder},
      stack{{*this, "stack"},
            options.decoder.layers,
            options.decoder.block,
            BlockKind{.causal = true,
                      .memory_width = options.encoder.block.width,
                      .positions = options.decoder.positions}},
      output{{*this, "output"},
             options.decoder.block.width,
             options.decoder.vocabulary,
             options.decoder.tied ? Bias::no : Bias::yes} {
  if (options.shared_words) input.words.weight.tie(encoder.input.words.weight);
  if (options.decoder.tied) output.weight.tie(input.words.weight);
}

Tensor TransformerTranslator::operator()(const Indices& source, const ValidLengths& lengths,
                                         const Indices& words, double forcing) const {
  if (forcing != 1)
    fail("[transformer{}] the forcing ratio must be 1, got {}; all positions are computed at once",
         in_quotes(), forcing);
  return output(stack(input(words), Mask{}, stack.attend_to(encoder(source, lengths), lengths)));
}

std::unique_ptr<AutoregressiveModel> TransformerTranslator::begin(const Indices& source,
                                                                  const ValidLengths& lengths) const {
  require_eval("translator");
  return std::make_unique<CachedTranslation>(*this, source, lengths);
}

}  // namespace tapestry
