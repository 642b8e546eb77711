// The task of consistent names, whose answers depend on the output so far and not on the source. Also measures the time
// of a training step by sentence length.
#pragma once

#include <array>

#include "core/tensor/indices.hpp"
#include "lessons/22_transformer/options.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson22 {

/// A source has kThings things of kKinds kinds, drawn at random. Each kind has its own kNamesOfKind names.
inline constexpr Size kThings = 24, kKinds = 12, kNamesOfKind = 4;

/// Texts and their translations, word for word. When a kind occurs for the first time, it gets one of its names at
/// random. It keeps this name in the rest of the text.
struct NamedThings {
  Indices things;     ///< (B, 24)
  Indices inputs;     ///< (B, 24): <start>, then all names except the last
  Indices names;      ///< (B, 24)
  Indices known;      ///< (B, 24): the names of kinds that occurred before, −1 for the first occurrence
  Indices words_ago;  ///< (B, 24): how many words ago the kind was last named, 0 for the first occurrence
};

NamedThings draw_things(kit::Random random, Size rows);

/// Ranges of `words_ago`, from and to.
inline constexpr std::array<std::array<Size, 2>, 5> kDistances = {
    {{1, 2}, {3, 5}, {6, 9}, {10, 14}, {15, 23}}};

/// Trains both decoders for two thirds of options.steps, and tests them on 500 new texts under teacher forcing. Draws
/// names.svg, and prints the time of a training step for both on sentences of 8 to 128 words. Returns true if both
/// targets are met.
bool train_on_names(kit::TransformerConfig config, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson22
