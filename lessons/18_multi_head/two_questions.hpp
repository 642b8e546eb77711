// The task of lesson 18: a list of keys with a digit each, and one question for two of the keys.
#pragma once

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

inline constexpr Size kListPairs = 12, kListKeys = 32, kListDigits = 10;

struct TwoQuestions {
  Indices keys, digits;   ///< (B, 12): the list; no key twice
  Indices first, second;  ///< (B, 1): the keys that are asked for, two different ones
  Indices places;         ///< (B, 2): where they stand
  Indices answers;        ///< (B, 2): their digits
};

/// `one_list`: all questions are about the same list, for a picture of them.
TwoQuestions draw_two_questions(Random random, Size count, bool one_list = false);

/// "a" … "z", "A" … "F"
char key_letter(std::int64_t key);

}  // namespace tapestry::kit
