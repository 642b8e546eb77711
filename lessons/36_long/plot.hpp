// Tables and pictures of the loss beyond the trained length.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/36_long/measure.hpp"

namespace tapestry::lesson36 {

/// Ranges of positions in the tables. The model sees the first in training.
struct Positions {
  Size from, to;
};
inline constexpr Positions kRanges[] = {{32, 64}, {64, 128}, {128, 256}, {256, 512}};

/// Loss at each position with one method.
struct Curve {
  std::string name;
  std::vector<double> losses;

  /// Returns the mean loss in kRanges[range].
  double in(std::size_t range) const { return mean_between(losses, kRanges[range].from, kRanges[range].to); }
};

/// Prints one row per curve with the mean loss in each range.
void print_curves(const std::string& heading, const std::vector<Curve>& curves);
/// Draws the loss against the position, in means over 16 positions, one line per curve.
void draw_curves(const std::string& title, const std::vector<Curve>& curves,
                 const std::filesystem::path& file);

/// Weight of the first token in each layer, with one method.
struct FirstToken {
  std::string name;
  std::vector<double> by_layer;
};
/// Prints and draws the weights, layer by layer, as bars.
void draw_first_token(const std::vector<FirstToken>& rows, const std::filesystem::path& file);

}  // namespace tapestry::lesson36
