// The task of lesson 19: cards that point to cards.
#pragma once

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

inline constexpr Size kCards = 10, kCardDigits = 10, kCardQuestions = 3;

struct Cards {
  Indices pointers;  ///< (B, 10): the number of a card, counted from 0; no two cards show the same
  Indices digits;    ///< (B, 10)
  /// (B, 10, 3): the digit of the card that this one points to; of the card that that one points to; the last
  /// digit of their sum.
  Indices answers;
};

Cards deal_cards(Random random, Size rows);

/// The share of cards that show the most frequent digit of their row, in per cent.
double most_frequent_digit(const Cards& cards);

}  // namespace tapestry::kit
