// Trains eight models with different position schemes on two tasks at length 16, and tests them at length 32.
#pragma once

#include <string>
#include <vector>

#include "lessons/17_positions/moves.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson17 {

inline constexpr Size kTrained = 16, kLonger = 32;

/// Results of one scheme's two models, one trained on each task.
struct Row {
  std::string name;
  double position_difference =
      0;  ///< largest difference of states in a string of one symbol, before training
  /// Percentage of right answers at each position.
  std::vector<double> reverse_16, reverse_32, shift_16, shift_32;
  /// Weights (32, 32) for the shift at length 32, from the head with the largest weights three positions back.
  std::vector<double> map;
};

struct Table {
  std::vector<Row> rows;
  const Row& operator[](const std::string& name) const;
};

/// Trains each model for options.steps, and prints its accuracy at length 16. Checks the targets: the accuracy
/// that each scheme must reach or cannot reach, and whether it distinguishes the positions of a string of one
/// symbol.
Table train_all(const kit::Options& options, kit::Report& report);

/// Prints the accuracy at length 32. Draws table.svg, places.svg and maps.svg.
void draw_longer(const Table& table, const kit::Options& options);
/// Checks the shift at length 32 for all schemes about which the chapter makes a claim.
void check_longer(const Table& table, kit::Report& report);

/// Returns the highest accuracy without order, in per cent: that of always naming the most frequent symbol at
/// the other positions.
double accuracy_without_order(const kit::Options& options);

}  // namespace tapestry::lesson17
