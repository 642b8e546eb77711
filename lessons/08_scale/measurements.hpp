// The measurements of lesson 08: sizes of scores, norms of the softmax's Jacobian, and the cost of each score.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/core.hpp"
#include "lessons/08_scale/training.hpp"

namespace tapestry::lesson08 {

/// Maps q (…, Tq, d) and k (…, Tk, d) to scores (…, Tq, Tk).
using Scores = std::function<Tensor(const Tensor& q, const Tensor& k)>;
/// Returns the scores of an Attention{additive(…)}, computed by hand with its weights.
using ScoresOf = std::function<Scores(const Attention& attention)>;
/// Maps weights (n, keys) to norms (n).
using Norm = std::function<Tensor(const Tensor& weights)>;

struct Spread {
  double mean;      ///< Largest absolute mean of q·k over the widths, divided by √d.
  double variance;  ///< Largest relative error of the variance of q·k from d.
};

/// Measures means and standard deviations of scores over 160,000 pairs of standard normal queries and keys at each
/// width. Prints one line per width.
Spread measure_spread(const Scores& dot, const Scores& scaled, std::uint64_t seed);

/// Returns W_q, W_k and v of an Attention{additive(…)}.
std::vector<Tensor> additive_weights(const Attention& attention);
/// Compares additive scores by hand with nn/'s, in an attention: gradcheck, values and gradients.
void compare_additive(const ScoresOf& additive_with, std::uint64_t seed, kit::Report& report);

struct Sizes {
  double median, mean;
};
struct Norms {
  std::array<Sizes, kWidths.size()> dot, scaled, additive;  ///< One entry per width.
};

/// Measures the norms over 800,000 draws (additive: 40,000) of a standard normal query with ten keys, in f64. Prints
/// one line per width, and draws the medians in gradient.svg.
Norms measure_norms(const Norm& norm, const Scores& dot, const Scores& scaled, const ScoresOf& additive_with,
                    const kit::Options& options);

struct Cost {
  double microseconds;  ///< Time per query, forward and backward: the shortest of ten measurements.
  double kilobytes;     ///< Memory per query that the tape stores for backward.
};
struct Costs {
  Cost dot, additive, nn;
};

/// Measures the cost of attention with dot scores, with additive scores from plain ops, and with nn/'s additive score.
/// Prints one line per width, and returns the costs at the last one. The three are measured in turns, so that other
/// load on the machine affects all of them.
Costs measure_costs(const Scores& dot, const ScoresOf& additive_with, const kit::Options& options);

}  // namespace tapestry::lesson08
