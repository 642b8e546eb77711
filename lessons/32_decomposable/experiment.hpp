// Training entailers, what they get right, and pictures of their alignment.
#pragma once

#include <string>
#include <vector>

#include "lessons/32_decomposable/entailer.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson32 {

/// Shares that are right, in %.
struct Right {
  double together = 0;  ///< pairs whose adjectives and nouns stood together in training too
  double held_out = 0;  ///< pairs with an adjective and a noun that never did
  double twins = 0;     ///< held-out pairs, entailed, and with their nouns exchanged, contradicted
};
Right measure(const Entailer& entailer, const kit::Options& options);

/// By Way: whole, no_places, equal, bag_of_words. Trains all four, prints a row for each, compares with the
/// targets, and draws right.svg, and of the whole alignment.svg and exchanged.svg. `hidden`: units of a layer; the
/// bag of words has four times as many.
std::vector<Right> train_each(Size hidden, const kit::Options& options, kit::Report& report);

/// How far apart the answers for a premise with any hypothesis and with its twin, nouns exchanged, are at most,
/// for an untrained entailer in f64.
double apart_from_twins(Way way, std::uint64_t seed);

}  // namespace tapestry::lesson32
