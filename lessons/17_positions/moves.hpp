// The tasks of lesson 17: at each place of a string, name the symbol of another place.
#pragma once

#include <vector>

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

/// reverse: the symbol of place n − 1 − t. shift: that of place t − 3.
enum class Move { reverse, shift };

inline constexpr Size kMoveSymbols = 64, kShift = 3;
/// The answer where there is no such place: the first three of a shift.
inline constexpr std::int64_t kNoAnswer = -1;

struct MovedSymbols {
  Indices symbols;  ///< (B, n)
  Indices answers;  ///< (B, n)
};

/// Strings of random symbols.
MovedSymbols draw_moves(Random random, Move move, Size rows, Size length);

/// Per cent right at each place (B, n); NaN where nothing was asked.
std::vector<double> right_by_place(const Indices& said, const Indices& answers);
/// Their mean over the places `first` … `last` − 1, as far as they exist and something was asked.
double mean_right(const std::vector<double>& right, Size first = 0, Size last = 1'000'000);

/// Strings (B, n): the per cent of right answers when the first place asks for the symbol of another one,
/// does not know which, and so names the commonest of all others.
double commonest_elsewhere(const Indices& symbols);

}  // namespace tapestry::kit
