// The task of lesson 20: digits, "=", the same digits sorted.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

inline constexpr Size kFewestDigits = 4, kMostDigits = 8;
/// Ten digits and "=".
inline constexpr std::int64_t kEquals = 10, kSortSymbols = 11;

/// A text as a model that predicts the next token is given it: what goes in, and what it must answer.
struct NextTokens {
  Indices inputs;
  Indices targets;  ///< the same shape; −1 where the answer does not count
};

/// A row for each string, as long as the longest needs: (B, 2 · digits). The answers that count are the
/// sorted digits, which begin to be written at "="; behind a shorter one stands "=" to the end, and counts
/// nothing.
NextTokens sorting(const std::vector<std::vector<std::int64_t>>& strings);

/// A tenth of all sorted strings are held out, chosen by their hash.
bool held_out(const std::vector<std::int64_t>& sorted);

/// Random strings of `fewest` to `most` digits, all of whose sorted forms are held out, or none.
NextTokens draw_sorting(Random random, Size rows, Size fewest, Size most, bool from_held_out);

}  // namespace tapestry::kit
