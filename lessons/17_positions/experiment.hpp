// Eight models that differ in how they are told of order, trained on two tasks at length 16 and tested at 32.
#pragma once

#include <string>
#include <vector>

#include "lessons/17_positions/moves.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson17 {

inline constexpr Size kTrained = 16, kLonger = 32;

/// A scheme's two models, one trained on each task.
struct Row {
  std::string name;
  double apart = 0;  ///< before training: how far states of a string of one symbol differ from place to place
  /// Per cent right, place by place.
  std::vector<double> reverse_16, reverse_32, shift_16, shift_32;
  /// Weights (32, 32) of the shift at the longer length: of all heads the one that looks most at three back.
  std::vector<double> map;
};

struct Table {
  std::vector<Row> rows;
  const Row& operator[](const std::string& name) const;
};

/// Trains for options.steps each, and prints how much is right at length 16. Judges the targets: what each
/// scheme must and cannot reach, and whether it tells the places of a string of one symbol apart.
Table train_all(const kit::Options& options, kit::Report& report);

/// Prints how much is right at length 32. Pictures: table.svg, places.svg and maps.svg.
void draw_longer(const Table& table, const kit::Options& options);
/// Judges the shift at length 32, for all schemes of which the chapter says something.
void judge_longer(const Table& table, kit::Report& report);

/// Who does not know where to look names the commonest of the other symbols: per cent right.
double without_order(const kit::Options& options);

}  // namespace tapestry::lesson17
