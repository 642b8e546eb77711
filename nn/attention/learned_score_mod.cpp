#include "nn/attention/learned_score_mod.hpp"

namespace tapestry {

ScoreModLayer::ScoreModLayer(Parent parent, const LearnedScoreMod& options)
    : Module(std::move(parent)), options_(options) {
  if (!options_.make) fail("[score_mod{}] a score_mod with parameters must have make, got none", in_quotes());
  for (const ScoreModParameter& one : options_.parameters)
    parameters_.emplace_back(*this, one.name, one.shape, one.first);
}

ScoreMod ScoreModLayer::operator()(Size queries, Size keys, const Tensor& data) const {
  std::vector<Tensor> parameters(parameters_.begin(), parameters_.end());
  if (needs_data()) {
    if (!data.defined())
      fail("[score_mod{}] data needs the layer's input; use it in MultiHeadAttention or TransformerBlock",
           in_quotes());
    parameters.push_back(data);
  }
  return options_.make(parameters, queries, keys);
}

Tensor ScoreModLayer::data(const Tensor& input) const {
  if (!needs_data()) return {};
  Tensor data = options_.data({parameters_.begin(), parameters_.end()}, input);
  if (data.rank() != 3 || data.size(0) != input.size(0) || data.size(1) != input.size(1))
    fail("[score_mod{}] data must be (batch, time, n) with the batch and time of the input, got {} from {}",
         in_quotes(), describe(data), describe(input));
  return data;
}

}  // namespace tapestry
