// Measurements of lesson 19's blocks: the effects of residuals on depth, and of norms on the learning rate.
#pragma once

#include "lessons/19_block/experiment.hpp"

namespace tapestry::lesson19 {

/// Measures eight blocks before training: the whole block, without residuals, and without norms. Computes the
/// spread of the tokens after each block, and each block's gradient of the weights of queries and keys. Prints
/// a table, checks targets, and draws gradients.svg. Returns the first block's gradient without norms divided
/// by the same gradient of the whole block.
double measure_depth(const kit::Options& options, kit::Report& report);

/// Trains with Adam alone at several learning rates. A model has learned if its final loss is at most `learns`.
/// Prints a table, checks targets, and draws rates.svg.
void try_rates(double learns, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson19
