#include "nn/attention/additive_scores.hpp"

#include <cmath>

#include "core/ops/additive.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

AdditiveScore::AdditiveScore(Parent parent, Size query_width, Size key_width, Size hidden,
                             Coverage with_coverage)
    : Score(std::move(parent)),
      query{{*this, "query"}, query_width, hidden, Bias::no},
      key{{*this, "key"}, key_width, hidden, Bias::no},
      vector{*this, "score.weight", {hidden}, fan_in_uniform},
      coverage(with_coverage == Coverage::yes ? Parameter{*this, "coverage.weight", {hidden}, fan_in_uniform}
                                              : Parameter{}) {}

Tensor AdditiveScore::prepare(const Tensor& keys) const { return key(keys); }

Tensor AdditiveScore::score(const Tensor& q, const Tensor& prepared, ScoreState& state) const {
  const Tensor keys = coverage.defined() ? covered(q, prepared, state) : prepared;
  return additive_score(query(q), keys, vector, state.mask);
}

Tensor AdditiveScore::covered(const Tensor& q, const Tensor& prepared, ScoreState& state) const {
  if (q.rank() < 2 || q.size(-2) != 1)
    fail(
        "[additive score{}] with coverage, queries must come one at a time, got {}; pass (…, 1, {}) and one "
        "ScoreState for all of them",
        in_quotes(), describe(q), query.weight.size(1));
  if (!state.weights.defined()) return prepared;
  state.memory = state.memory.defined() ? state.memory + state.weights : state.weights;
  return prepared + transpose(state.memory) * coverage;
}

NormedAdditiveScore::NormedAdditiveScore(Parent parent, Size query_width, Size key_width, Size hidden)
    : Score(std::move(parent)),
      query{{*this, "query"}, query_width, hidden, Bias::no},
      key{{*this, "key"}, key_width, hidden},
      vector{*this, "score.weight", {hidden}, fan_in_uniform},
      gain{*this, "score.gain", {1}, constant(1 / std::sqrt(static_cast<double>(hidden)))} {}

Tensor NormedAdditiveScore::prepare(const Tensor& keys) const { return key(keys); }

Tensor NormedAdditiveScore::score(const Tensor& q, const Tensor& prepared, ScoreState& state) const {
  const Tensor v = vector * (gain / sqrt(sum(vector * vector)));
  return additive_score(query(q), prepared, v, state.mask);
}

ConcatScore::ConcatScore(Parent parent, Size query_width, Size key_width, Size hidden)
    : Score(std::move(parent)),
      weight{*this, "weight", {hidden, query_width + key_width}, xavier},
      vector{*this, "score.weight", {hidden}, fan_in_uniform},
      query_width_(query_width) {}

Tensor ConcatScore::prepare(const Tensor& keys) const {
  return linear(keys, slice(weight, 1, query_width_, weight.size(1)));
}

Tensor ConcatScore::score(const Tensor& q, const Tensor& prepared, ScoreState& state) const {
  return additive_score(linear(q, slice(weight, 1, 0, query_width_)), prepared, vector, state.mask);
}

ScoreFactory additive(Size query_width, Size key_width, Size hidden, Coverage coverage) {
  return ScoreFactory::of<AdditiveScore>(query_width, key_width, hidden, coverage);
}

ScoreFactory normed_additive(Size query_width, Size key_width, Size hidden) {
  return ScoreFactory::of<NormedAdditiveScore>(query_width, key_width, hidden);
}

ScoreFactory concat_score(Size query_width, Size key_width, Size hidden) {
  return ScoreFactory::of<ConcatScore>(query_width, key_width, hidden);
}

}  // namespace tapestry
