#include "nn/attention/scores.hpp"

#include <cmath>

#include "core/ops/additive.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

AdditiveScore::AdditiveScore(Place place, Size query_width, Size key_width, Size hidden)
    : Module(std::move(place)),
      query{{*this, "query"}, query_width, hidden, Bias::no},
      key{{*this, "key"}, key_width, hidden, Bias::no},
      vector{*this, "score.weight", {hidden}, fan_in_uniform} {}

Tensor AdditiveScore::prepare(const Tensor& keys) const { return key(keys); }

Tensor AdditiveScore::score(const Tensor& q, const Tensor& prepared, ScoreState& state) const {
  return additive_score(query(q), prepared, vector, state.mask);
}

Tensor DotScore::score(const Tensor& query, const Tensor& keys, ScoreState&) const {
  return matmul(query, transpose(keys));
}

Tensor ScaledDotScore::score(const Tensor& query, const Tensor& keys, ScoreState&) const {
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  return matmul(query * scale, transpose(keys));
}

ScoreMaker additive(Size query_width, Size key_width, Size hidden) {
  return ScoreMaker::of<AdditiveScore>(query_width, key_width, hidden);
}

ScoreMaker dot() { return ScoreMaker::of<DotScore>(); }

ScoreMaker scaled_dot() { return ScoreMaker::of<ScaledDotScore>(); }

}  // namespace tapestry
