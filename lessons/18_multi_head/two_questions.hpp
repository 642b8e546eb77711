// The task of lesson 18: a list of keys with one digit each, and one question for two of the keys.
#pragma once

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

inline constexpr Size kListPairs = 12, kListKeys = 32, kListDigits = 10;

struct TwoQuestions {
  Indices keys, digits;   ///< (B, 12): the list, in which no key occurs twice
  Indices first, second;  ///< (B, 1): the two different keys that are asked for
  Indices places;         ///< (B, 2): the places of these keys in the list
  Indices answers;        ///< (B, 2): the digits of these keys
};

/// Draws questions. With `one_list`, all questions are about the same list, for one picture.
TwoQuestions draw_two_questions(Random random, Size count, bool one_list = false);

/// Returns "a" … "z", "A" … "F".
char key_letter(std::int64_t key);

}  // namespace tapestry::kit
