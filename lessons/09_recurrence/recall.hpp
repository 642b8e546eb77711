// The task of lesson 09: name the first symbol of a string after many more symbols.
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

/// Number of symbols, which are 0 … 9.
inline constexpr Size kRecallSymbols = 10;

struct RecallStrings {
  Indices symbols;       ///< (B, 1 + the longest noise); after a row's length comes padding.
  ValidLengths lengths;  ///< (B).
  Indices first;         ///< (B): the answers.
};

/// Draws strings of one symbol and `shortest` to `longest` more, all random.
RecallStrings draw_recall(Random random, Size count, Size shortest, Size longest);

}  // namespace tapestry::kit
