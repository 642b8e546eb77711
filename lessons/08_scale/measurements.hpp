// How large a softmax's derivative is, and what a score costs: the measurements of lesson 08.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/core.hpp"
#include "lessons/08_scale/training.hpp"

namespace tapestry::lesson08 {

/// q (…, Tq, d), k (…, Tk, d) → (…, Tq, Tk)
using Scores = std::function<Tensor(const Tensor& q, const Tensor& k)>;
/// The scores of an Attention{additive(…)}, by hand and with its weights.
using ScoresOf = std::function<Scores(const Attention& attention)>;
/// weights (n, keys) → (n)
using Norm = std::function<Tensor(const Tensor& weights)>;

struct Spread {
  double mean;      ///< the mean of q·k that is furthest from 0, divided by √d
  double variance;  ///< the variance of q·k that is furthest from d, as a share of d
};

/// Means and deviations of scores over 160,000 pairs of standard normal queries and keys at each width.
/// Prints a line for each.
Spread measure_spread(const Scores& dot, const Scores& scaled, std::uint64_t seed);

/// W_q, W_k and v of an Attention{additive(…)}.
std::vector<Tensor> additive_weights(const Attention& attention);
/// Additive scores by hand against nn/'s, in an attention: gradcheck, values, gradients.
void compare_additive(const ScoresOf& additive_with, std::uint64_t seed, kit::Report& report);

struct Sizes {
  double median, mean;
};
struct Norms {
  std::array<Sizes, kWidths.size()> dot, scaled, additive;  ///< at each width
};

/// The norms over 800,000 draws (additive: 40,000) of standard normal queries with ten keys each, in f64.
/// Prints a line for each width; the medians to gradient.svg.
Norms measure_norms(const Norm& norm, const Scores& dot, const Scores& scaled, const ScoresOf& additive_with,
                    const kit::Options& options);

struct Cost {
  double microseconds;  ///< per query, forward and backward: the fastest of ten turns
  double kilobytes;     ///< that the tape keeps for backward, per query
};
struct Costs {
  Cost dot, additive, nn;
};

/// What attention costs with dot scores, with additive ones from plain ops, and with nn/'s additive score.
/// Prints a line for each width, and returns the last. The three run in turns, so that whatever else the
/// machine does falls on all of them.
Costs measure_costs(const Scores& dot, const ScoresOf& additive_with, const kit::Options& options);

}  // namespace tapestry::lesson08
