// The task of lesson 09: name the first symbol of a string when many more have come.
#pragma once

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

/// Ten symbols, 0 … 9.
inline constexpr Size kRecallSymbols = 10;

struct RecallStrings {
  Indices symbols;       ///< (B, 1 + the longest noise); what stands after a row's length does not count
  ValidLengths lengths;  ///< (B)
  Indices first;         ///< (B): the answers
};

/// Strings of one symbol and `shortest` to `longest` more, all random.
RecallStrings draw_recall(Random random, Size count, Size shortest, Size longest);

}  // namespace tapestry::kit
