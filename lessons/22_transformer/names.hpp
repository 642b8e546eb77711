// Names that must be kept: a task whose answers stand in what was written, not in what was read; and how long
// a step of training takes as sentences grow.
#pragma once

#include <array>

#include "core/tensor/values.hpp"
#include "lessons/22_transformer/options.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson22 {

/// A source is so many things of some kinds, drawn at random; each kind has some names of its own.
inline constexpr Size kThings = 24, kKinds = 12, kNamesOfKind = 4;

/// Texts and their translations, word for word: a kind gets one of its names by chance where it comes first,
/// and keeps it.
struct NamedThings {
  Indices things;  ///< (B, 24)
  Indices fed;     ///< (B, 24): <start>, then the names but for the last
  Indices names;   ///< (B, 24)
  Indices known;   ///< (B, 24): the names of kinds that came before, −1 for first ones
  Indices since;   ///< (B, 24): how many words ago the kind was named, 0 for first ones
};

NamedThings draw_things(kit::Random random, Size rows);

/// How long ago a name was written: from, to, in words.
inline constexpr std::array<std::array<Size, 2>, 5> kAgo = {{{1, 2}, {3, 5}, {6, 9}, {10, 14}, {15, 23}}};

/// Trains a decoder of each kind, on two thirds of options.steps, and tests them on 500 new texts in which
/// the words before are given; draws names.svg, and prints how long a training step takes for both on
/// sentences of 8 to 128 words. Returns whether both targets are met.
bool keep_names(kit::TransformerConfig config, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson22
