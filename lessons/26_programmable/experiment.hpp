// The measurements and figures of lesson 26: the three levels of one formula, texts longer than in training,
// the puzzle and the gallery.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "lessons/26_programmable/mechanism.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/positions/scheme.hpp"

namespace lesson26 {

using tapestry::Size, tapestry::kit::Mechanism;
namespace kit = tapestry::kit;

/// Checks each level, compares values and gradients with those of the first level, to 1e-11, and prints
/// times.
void compare_levels(const std::array<Mechanism, 3>& levels, const kit::Options& options, kit::Report& report);

/// The source of word order in a model: positions, or a change of its scores.
struct Order {
  tapestry::PositionScheme positions = tapestry::no_positions();
  tapestry::LearnedScoreMod score_mod = {};
};

inline constexpr Size kShort = 64, kLong = 256;  // words per text in training and in the test

/// Loss at 256 words minus loss at 64 words.
struct LossIncrease {
  double alibi = 0, sinusoidal = 0;
};
/// Checks that nn/'s alibi() returns the same logits. Then trains two models at 64 words and tests them at
/// 256, with a table and length.svg.
LossIncrease train_short(const tapestry::LearnedScoreMod& alibi, const kit::Options& options,
                         kit::Report& report);

/// Percentage of the favourites that are predicted correctly from position 192 on.
struct PuzzleAccuracy {
  double own = 0, best_built_in = 0;
};
/// Checks, times, trains and draws the mechanism of my_attention.cpp (mine-voices.svg). Then trains four
/// built-in schemes. Returns nothing if the mechanism fails its check or is not a causal score.
std::optional<PuzzleAccuracy> solve_voices(const kit::Options& options, kit::Report& report);

/// Prints a line for each mechanism and writes gallery.json with save_gallery(). If `pictures` is set, also
/// draws maps of the weights (gallery.svg, gallery_place.svg).
void show_gallery(const kit::Options& options, kit::Report& report, bool pictures);

}  // namespace lesson26
