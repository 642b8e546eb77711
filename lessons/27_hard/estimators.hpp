// Measurements of gradient estimates: their bias, their variance, and the cells that they need.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson27 {

/// Returns the surrogate loss of each row, (B), from scores (B, n), the drawn key of each row (B), the loss of each
/// row (B), and a baseline. The gradient of the surrogate is the estimate.
using ByDraw =
    std::function<Tensor(const Tensor& scores, const Indices& drawn, const Tensor& losses, double b)>;

struct EstimateMoments {
  double drawn[2];  ///< the estimate after each draw
  double mean, variance;
};
/// Returns the mean and the variance of the estimate for the first of two cells with the probabilities ¼ and ¾, over
/// both draws.
EstimateMoments of_two_cells(const ByDraw& estimate, const std::vector<double>& losses, double baseline);

/// Maps scores (B, n), noise (B, n) and a temperature to weights (B, n).
using ByNoise = std::function<Tensor(const Tensor& scores, const Tensor& noise, double tau)>;
/// Runs gradcheck in f64, and compares with nn/'s functions for the same noise. A function that jumps cannot
/// be compared with differences. So the value of `straight` must be the one-hot vector of the drawn key, and
/// its gradient must be that of `soft`.
void check_all(kit::Report& report, const ByDraw& estimate, const ByNoise& soft, const ByNoise& straight,
               std::uint64_t seed);

/// One question to a reader that knows the symbols, but not yet which cell to read. All tensors are f64.
struct SingleQuestion {
  Tensor scores;    ///< (cells): normal with standard deviation ½
  Tensor logits;    ///< (cells, symbols): the answer for each cell: 4 at the symbol in the cell, 0 elsewhere
  Indices answer;   ///< (1): a symbol that is in only one cell
  Tensor losses;    ///< (cells): the loss of the answer if this cell is read
  double expected;  ///< J, the expected loss
  Tensor gradient;  ///< (cells): of the expected loss with respect to the scores, p_k (L_k − J)
};
SingleQuestion single_question(std::uint64_t seed);

struct Quality {
  std::string name;
  double variance = 0;         ///< sum of the variances over k, divided by the squared norm of the gradient
  double relative_error = 0;   ///< |mean − gradient| ÷ |gradient|, in %
  double standard_errors = 0;  ///< the largest of |mean_k − gradient_k| in standard errors of that mean
};
/// Measurements of the estimates of nn/'s functions, each with the same number of draws. `cold` has a small temperature τ,
/// `warm` a large one.
struct EstimatorQualities {
  Quality no_baseline, baseline, straight_cold, straight_warm, soft_cold, soft_warm;
};
EstimatorQualities measure(const SingleQuestion& question, Size draws, std::uint64_t seed);
/// Returns the exact variance of REINFORCE's estimate L_a (δ_ak − p_k) as in Quality, with `offset` added to every
/// loss.
double exact_variance(const SingleQuestion& question, double offset);

/// Methods whose estimate changes when the symbols in the cells that were not drawn change.
struct DependsOnOthers {
  bool reinforce, straight_through;
};
DependsOnOthers depends_on_other_cells(const SingleQuestion& question, std::uint64_t seed);

}  // namespace tapestry::lesson27
