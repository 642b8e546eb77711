// The tasks of lesson 12: look up letters in a list, and follow a trail through it.
#pragma once

#include <string>

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson12 {

/// Number of symbols: four special ones, letters a … t, digits 0 … 9, capitals A … T.
inline constexpr Size kLookupVocabulary = 4 + 20 + 10 + 20;

struct Lookups {
  Indices source;     ///< (B, 2 · pairs): a letter, its digit or capital, the next letter, ….
  Indices questions;  ///< (B, T)
  Indices answers;    ///< (B, T)
};

/// Draws pairs of a letter and its digit. The questions are all the letters in another order.
Lookups draw_lookups(kit::Random random, Size count, Size pairs);
/// Draws pairs of a letter and the capital of the next letter on a ring. The first of four questions is a letter. The
/// others are kit::kStart, "continue": each answer is the capital that belongs to the previous answer.
Lookups draw_trails(kit::Random random, Size count, Size pairs);

/// Returns "a", "0" or "A", and "·" for kit::kStart.
std::string lookup_symbol(std::int64_t id);

}  // namespace tapestry::lesson12
