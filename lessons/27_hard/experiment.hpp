// The runs of lesson 27: five training methods, losses with an added number, and their pictures.
#pragma once

#include "lessons/27_hard/estimators.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson27 {

/// Prints a line for each estimate, and draws variance.svg.
void show(const EstimatorQualities& all, const kit::Options& options);

/// Percentages of questions answered correctly.
struct MethodResults {
  double at_random, no_baseline, baseline, soft, straight_through;
};
/// Trains all five methods on the same questions, prints the results, and draws glimpses.svg.
MethodResults train_five(double temperature, const kit::Options& options);

struct AddedLossAccuracy {
  double no_baseline, baseline;  ///< right answers in %, with `largest_added` added to every loss
};
/// Trains without a baseline for several added numbers up to `largest_added`, and with a baseline for the largest.
/// Prints the results, and draws raised.svg.
AddedLossAccuracy train_with_added_losses(const SingleQuestion& question, const MethodResults& five,
                                          double largest_added, const kit::Options& options);

}  // namespace tapestry::lesson27
