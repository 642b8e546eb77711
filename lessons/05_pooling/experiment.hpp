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

struct Pooled {
  Tensor answers;  ///< (Tq)
  Tensor weights;  ///< (Tq, Tk): a row for each query
};

/// What comes of the scores β k_j for 51 queries.
struct KeysAlone {
  double mean_error;        ///< the squared error for β = 0, the plain mean
  double spread;            ///< how far any query's answer is from the first one's, for any β
  bool picks_the_last_key;  ///< β = 10⁶ gives the value at the largest key
};
/// With the chapter's pool(scores, values), for β = 0, 1 and 10⁶; prints a table.
KeysAlone try_keys_alone(Pooled (*pool)(const Tensor& scores, const Tensor& values), const Points& points);

/// The chapter's answers beside those of nn/'s Attention with the score nadaraya_watson(), checked as
/// kit::check_by_hand does.
void compare_with_nn(Tensor (*answers)(const Tensor& queries, const Tensor& keys, const Tensor& values,
                                       const Tensor& log_sigma),
                     std::uint64_t seed, kit::Report& report);

struct LearnedSigma {
  double sigma;
  double loss;  ///< the mean squared error on the points in the last step
};

/// Learns σ from 1 on by Adam with nn/'s Attention: each point is predicted from those that `may_see` (50,
/// 50) allows it; a row for each prediction. `name` stands above the progress.
LearnedSigma learn_sigma(const char* name, const Points& points, const Mask& may_see, std::int64_t steps);

/// A table of both, with their errors on the curve.
void print_learned(const LearnedSigma& seeing_itself, double its_error, const LearnedSigma& left_out,
                   double error);

/// The points, the curve, their mean and the answers (51) to queries(), to fit.svg; and every other query's
/// weights (51, 50), keys taken in twos, to weights.svg.
void draw(const Points& points, const Tensor& answers, const Tensor& weights, const kit::Options& options);

}  // namespace tapestry::lesson05
