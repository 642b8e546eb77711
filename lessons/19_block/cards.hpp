// The task of lesson 19: cards that point to other cards.
#pragma once

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

inline constexpr Size kCards = 10, kCardDigits = 10, kCardQuestions = 3;

struct Cards {
  Indices pointers;  ///< (B, 10): the number of a card, counted from 0; all different in a row
  Indices digits;    ///< (B, 10)
  /// (B, 10, 3): the digit of the card that this card points to, the digit of the card that *that* card points
  /// to, and the last digit of the sum of these two digits.
  Indices answers;
};

/// Draws `rows` rows of cards.
Cards deal_cards(Random random, Size rows);

/// Returns the percentage of cards that show the most frequent digit of their row.
double most_frequent_digit(const Cards& cards);

}  // namespace tapestry::kit
