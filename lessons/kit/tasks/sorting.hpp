// Sorting digits, the task of lesson 20: the digits, "=", the same digits sorted.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

inline constexpr Size kFewestDigits = 4, kMostDigits = 8;
/// Token id of "=", and the vocabulary size: ten digits and "=".
inline constexpr std::int64_t kEquals = 10, kSortSymbols = 11;

/// Inputs and targets for next-token prediction.
struct NextTokens {
  Indices inputs;
  Indices targets;  ///< the same shape; −1 where the target is ignored
};

/// Encodes one string per row, padded to the longest: (B, 2 · digits). Only the sorted digits are targets; the first is
/// predicted at "=". Shorter rows are padded with "=" and ignored targets. Throws Error for an empty string.
NextTokens sorting(const std::vector<std::vector<std::int64_t>>& strings);

/// Returns true if a sorted string is held out of training. About a tenth of them are, chosen by a hash.
bool held_out(const std::vector<std::int64_t>& sorted);

/// Draws random strings of `fewest` to `most` digits. Their sorted forms are all held out, or none is.
NextTokens draw_sorting(Random random, Size rows, Size fewest, Size most, bool from_held_out);

}  // namespace tapestry::kit
