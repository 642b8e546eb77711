// The experiment of lesson 05: fifty noisy measurements of a curve, and the training of σ on them.
#pragma once

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson05 {

struct Points {
  Tensor x, y;  ///< (50) in f64: places, rising from 0 to 5, and the values measured at them
};

/// Returns one random place in each tenth of a unit, and y = 2 sin x + x + ε. ε is normal with standard deviation ½.
Points measure(std::uint64_t seed);
/// Returns 51 queries (f64) from 0 to 5.
Tensor queries();
/// Returns 2 sin x + x, without noise, for `x` of any shape.
Tensor curve_at(const Tensor& x);
/// Returns the mean squared difference between the answers (Tq) and the curve at the queries (Tq).
double squared_error(const Tensor& answers, const Tensor& queries);

struct Pooled {
  Tensor answers;  ///< (Tq)
  Tensor weights;  ///< (Tq, Tk): one row for each query
};

/// Results of the scores β k_j for 51 queries.
struct KeysAlone {
  double mean_error;  ///< the squared error for β = 0, the plain mean
  double spread;      ///< largest difference of any query's answer from the first query's answer, over all β
  bool picks_the_last_key;  ///< true if β = 10⁶ returns the value at the largest key
};
/// Runs the chapter's pool(scores, values) for β = 0, 1 and 10⁶, and prints a table.
KeysAlone try_keys_alone(Pooled (*pool)(const Tensor& scores, const Tensor& values), const Points& points);

/// Compares the chapter's answers with those of nn/'s Attention with the score nadaraya_watson(), using
/// kit::check_by_hand.
void compare_with_nn(Tensor (*answers)(const Tensor& queries, const Tensor& keys, const Tensor& values,
                                       const Tensor& log_sigma),
                     std::uint64_t seed, kit::Report& report);

struct LearnedSigma {
  double sigma;
  double loss;  ///< the mean squared error on the points in the last step
};

/// Learns σ with Adam and nn/'s Attention, starting at 1. Row i of `mask` (50, 50) says from which points point i
/// is predicted. `name` is printed above the progress.
LearnedSigma learn_sigma(const char* name, const Points& points, const Mask& mask, std::int64_t steps);

/// Prints a table of both, with their errors on the curve.
void print_learned(const LearnedSigma& with_itself, double error_with_itself, const LearnedSigma& left_out,
                   double error_left_out);

/// Draws the points, the curve, the points' mean and the answers (51) to queries() as fit.svg. Draws the weights
/// (51, 50) as weights.svg, for every other query, with each two neighbouring keys added up.
void draw(const Points& points, const Tensor& answers, const Tensor& weights, const kit::Options& options);

}  // namespace tapestry::lesson05
