#include "nn/transformer/language_model.hpp"

#include "core/ops/views.hpp"

namespace tapestry {

namespace {

class CachedGeneration final : public AutoregressiveModel {
 public:
  CachedGeneration(const LanguageModel& model, const Indices& prompt, Size capacity)
      : model_(model), cache_(model.cache(capacity)), rows_(prompt.shape()[0]) {
    const Size read = prompt.shape()[1] - 1;
    if (read > 0) model_(prompt.columns(0, read), cache_);
  }

  Size rows() const override { return rows_; }
  Step step(const Indices& words) override {
    return {squeeze(model_(words.reshape({words.shape()[0], 1}), cache_), 1), {}};
  }
  void reorder_rows(const std::vector<Size>& rows) override {
    cache_.reorder_rows(rows);
    rows_ = static_cast<Size>(rows.size());
  }

 private:
  const LanguageModel& model_;
  StackCache cache_;
  Size rows_;
};

}  // namespace

LanguageModel::LanguageModel(Parent parent, const TransformerOptions& options)
    : Module(std::move(parent)),
      input{{*this, "input"}, options},
      stack{{*this, "stack"},
            options.layers,
            options.block,
            BlockKind{.causal = true, .positions = options.positions}},
      output{
          {*this, "output"}, options.block.width, options.vocabulary, options.tied ? Bias::no : Bias::yes} {
  if (options.tied) output.weight.tie(input.words.weight);
}

Tensor LanguageModel::operator()(const Indices& ids, const Mask& mask, CallSite at) const {
  return output(stack(input(ids, {}, {}, at), mask), at);
}

Tensor LanguageModel::operator()(const Indices& ids, StackCache& cache, const Mask& mask,
                                 const std::vector<Size>& positions, CallSite at) const {
  const Size before = cache.length();
  if (!positions.empty() && static_cast<Size>(positions.size()) != before + ids.shape().from_back(1))
    fail(
        "[language_model] positions must be given for all tokens so far, got {} for {} in the cache and ids {}",
        positions.size(), before, to_string(ids.shape()));
  const TokenPositions places = positions.empty()
                                    ? TokenPositions(before)
                                    : TokenPositions({positions.begin() + before, positions.end()});
  return output(stack(input(ids, places, {}, at), cache, {}, mask, positions), at);
}

std::unique_ptr<AutoregressiveModel> LanguageModel::begin(const Indices& prompt, Size capacity) const {
  require_eval("language model");
  if (prompt.rank() != 2 || prompt.shape()[1] < 1)
    fail("[language_model] prompt must be (batch, time) with at least one token, got {}",
         to_string(prompt.shape()));
  return std::make_unique<CachedGeneration>(*this, prompt, capacity);
}

}  // namespace tapestry
