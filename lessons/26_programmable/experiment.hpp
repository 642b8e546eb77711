// What lesson 26 trains, times and draws: three levels of one formula, texts longer than in training, the
// puzzle, the gallery.
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

/// Checks each, compares their values and gradients with the first one's, to 1e-11, and prints their times.
void compare_levels(const std::array<Mechanism, 3>& levels, const kit::Options& options, kit::Report& report);

/// What a model is told of order: by positions, or by what is done to its scores.
struct Order {
  tapestry::PositionScheme positions = tapestry::no_positions();
  tapestry::LearnedScoreMod score_mod = {};
};

inline constexpr Size kShort = 64, kLong = 256;  // words of a text in training, and in the test

/// The loss at 256 words, less that at 64.
struct Lengthened {
  double alibi = 0, sinusoidal = 0;
};
/// That nn/'s alibi() gives the same logits; then two models trained at 64 words and tested at 256: a table, and
/// length.svg.
Lengthened train_short(const tapestry::LearnedScoreMod& alibi, const kit::Options& options,
                       kit::Report& report);

/// Favourites known from place 192 on, in per cent.
struct Solved {
  double own = 0, best_built_in = 0;
};
/// The mechanism of my_attention.cpp checked, timed, trained and drawn (mine-voices.svg); then four built-in schemes.
/// Nothing where it fails its check or is no causal score.
std::optional<Solved> solve_voices(const kit::Options& options, kit::Report& report);

/// A line for each mechanism, save_gallery() to gallery.json, and where pictures are wanted maps of their weights
/// (gallery.svg, gallery_place.svg).
void show_gallery(const kit::Options& options, kit::Report& report, bool pictures);

}  // namespace lesson26
