// Trains the models, measures their answers, and plots the alignment.
#pragma once

#include <string>
#include <vector>

#include "lessons/32_decomposable/entailer.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson32 {

/// Right answers, in %.
struct Right {
  double together = 0;  ///< pairs in which every adjective and noun were together in training too
  double held_out = 0;  ///< pairs with an adjective and a noun that were never together in training
  /// held-out entailed pairs, and the same pairs with the nouns of the hypothesis exchanged, which are contradicted
  double twins = 0;
};
Right measure(const Entailer& entailer, const kit::Options& options);

/// Trains the four models in the order of Model: full, no_positions, equal, bag_of_words. Prints a row for each,
/// compares with the targets, and draws right.svg. For the full model it also draws alignment.svg and
/// exchanged.svg. `hidden` is the number of units of a layer. The bag of words has four times as many.
std::vector<Right> train_each(Size hidden, const kit::Options& options, kit::Report& report);

/// Returns the largest difference between the logits for twins: for one premise, a hypothesis and the same
/// hypothesis with its nouns exchanged. The model is untrained, in f64.
double apart_from_twins(Model model, std::uint64_t seed);

}  // namespace tapestry::lesson32
