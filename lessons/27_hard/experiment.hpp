// The runs of lesson 27: five ways to train, losses with something added, and their pictures.
#pragma once

#include "lessons/27_hard/estimators.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson27 {

/// Prints a line for each, and draws variance.svg.
void show(const Worths& all, const kit::Options& options);

/// Questions answered rightly, in %.
struct FiveWays {
  double at_random, no_baseline, baseline, soft, straight_through;
};
/// Trains all of them on the same tables, prints, and draws glimpses.svg.
FiveWays train_five(double temperature, const kit::Options& options);

struct Raised {
  double no_baseline, baseline;  ///< in %, with `most` added to every loss
};
/// Without a baseline for losses raised up to `most`, with one for the highest. Prints, and draws
/// raised.svg.
Raised raise_losses(const Unsure& unsure, const FiveWays& five, double most, const kit::Options& options);

}  // namespace tapestry::lesson27
