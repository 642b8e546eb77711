// Why the learning rate warms up: Adam's first steps, and translators that start at the full learning rate.
#pragma once

#include <vector>

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson22 {

/// Draws the loss of a word by its probability among 100 words, with and without smoothing, in smoothing.svg.
/// Returns the probability with the smallest smoothed loss.
double draw_smoothing(double smoothing, const kit::Options& options);

/// Returns the values of a weight after each of these gradients with Adam. It starts at 0; the learning rate is 1, ε
/// is 0.
std::vector<double> adam_trajectory(const std::vector<double>& gradients);

/// Trains a translator of 3 + 3 blocks, with norms after the sums of the residuals, on the grammar. It is
/// trained twice for at most 150 steps with a high peak learning rate: from the first step on, or after a rise
/// over 50 steps. Draws both losses in warm_up.svg. Returns the first final loss minus the second.
double compare_warm_up(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson22
