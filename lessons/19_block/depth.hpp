// What residuals keep and what norms allow: lesson 19's blocks, measured.
#pragma once

#include "lessons/19_block/experiment.hpp"

namespace tapestry::lesson19 {

/// Eight blocks before training, whole, without residuals, without norms: after each block how unlike its
/// tokens are, and in each the gradient of queries' and keys' weights. A table, targets, and gradients.svg.
/// Returns the first block's gradient without norms divided by the whole's.
double look_into_depth(const kit::Options& options, kit::Report& report);

/// Adam alone at several rates, and which of them end with a loss of at most `learns`: a table, targets, and
/// rates.svg.
void try_rates(double learns, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson19
