// Fifty noisy measurements of a curve, and the training of σ on them: the experiment of lesson 05.
#pragma once

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson05 {

struct Points {
  Tensor x, y;  ///< (50) in f64: places, x rising from 0 to 5, and what was measured there
};

/// One place at random in each tenth of a unit, and y = 2 sin x + x + ε, where ε is normal with deviation ½.
Points measure(std::uint64_t seed);
/// 51 places (f64) from 0 to 5 that are asked about.
Tensor queries();
/// 2 sin x + x, without noise, at `x` of any shape.
Tensor curve_at(const Tensor& x);
/// The mean squared distance of the answers (Tq) from the curve at the queries (Tq).
double squared_error(const Tensor& answers, const Tensor& queries);

struct LearnedSigma {
  double sigma;
  double loss;  ///< the mean squared error on the points in the last step
};

/// Learns σ from 1 on by Adam with nn/'s Attention: each point is predicted from those that `may_see` (50,
/// 50) allows it; a row for each prediction.
LearnedSigma learn_sigma(const Points& points, const Mask& may_see, std::int64_t steps);

/// The points, the curve, their mean and the answers (51) to queries(), to fit.svg; and every other query's
/// weights (51, 50), keys taken in twos, to weights.svg.
void draw(const Points& points, const Tensor& answers, const Tensor& weights, const kit::Options& options);

}  // namespace tapestry::lesson05
