// Why the learning rate warms up: Adam's first steps, and translators that start at the full rate.
#pragma once

#include <vector>

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson22 {

/// The loss of a word against its probability among 100 words, with and without smoothing; to smoothing.svg.
/// Returns the probability at which the smoothed loss is least.
double draw_smoothing(double smoothing, const kit::Options& options);

/// Where Adam has put a weight after each of these gradients; it starts at 0, the rate is 1, and ε is 0.
std::vector<double> adam_places(const std::vector<double>& gradients);

/// A translator of 3 + 3 blocks with norms after the residual's sum learns the grammar twice, for at most 150
/// steps with a high peak rate: from the first step on, or after a rise over 50. Both losses go to
/// warm_up.svg; returns how far the first one ends above the second.
double race(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson22
