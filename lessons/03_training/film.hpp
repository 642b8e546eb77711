// The border while it is learned: for a page of the book, which shows the step that its reader picks.
#pragma once

#include <vector>

#include "lessons/03_training/experiment.hpp"

namespace tapestry::lesson03 {

/// Writes border_over_training.json: the training points, and for each optimiser what its network made of a grid
/// of places after each step that was filmed.
void save_film(const std::array<Trained, 3>& trained, const kit::Points& points, const kit::Options& options);

}  // namespace tapestry::lesson03
