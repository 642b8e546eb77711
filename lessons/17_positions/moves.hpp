// The tasks of lesson 17: at each position of a string, name the symbol at another position.
#pragma once

#include <vector>

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

/// reverse: the answer is the symbol at position n − 1 − t. shift: the symbol at position t − 3.
enum class Move { reverse, shift };

inline constexpr Size kMoveSymbols = 64, kShift = 3;
/// The answer at the first three positions of a shift, which have no symbol three positions back.
inline constexpr std::int64_t kNoAnswer = -1;

struct MovedSymbols {
  Indices symbols;  ///< (B, n)
  Indices answers;  ///< (B, n)
};

/// Draws strings of random symbols with their answers.
MovedSymbols draw_moves(Random random, Move move, Size rows, Size length);

/// Returns the percentage of right answers at each position, for answers (B, n). NaN for positions without an
/// answer.
std::vector<double> accuracy_by_position(const Indices& predicted, const Indices& answers);
/// Returns the mean over the positions `first` … `last` − 1, for those positions that exist and have an answer.
double mean_accuracy(const std::vector<double>& right, Size first = 0, Size last = 1'000'000);

/// Returns the accuracy, in per cent, of a model without order on strings (B, n). At position 0, it always
/// names the most frequent symbol of the other positions.
double most_frequent_elsewhere(const Indices& symbols);

}  // namespace tapestry::kit
