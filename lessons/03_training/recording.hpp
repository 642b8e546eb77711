// Recordings of the border during training, for a page of the book that shows the step which its reader chooses.
#pragma once

#include <vector>

#include "lessons/03_training/experiment.hpp"

namespace tapestry::lesson03 {

/// Writes border_over_training.json: the training points and, for each optimiser, the network's output on a grid of
/// places after each recorded step.
void save_recordings(const std::array<Trained, 3>& trained, const kit::Points& points,
                     const kit::Options& options);

}  // namespace tapestry::lesson03
