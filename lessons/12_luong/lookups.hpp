// The tasks of lesson 12: look letters up in a list, and follow a trail through it.
#pragma once

#include <string>

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson12 {

/// Symbols after the special ones: letters a … t, digits 0 … 9, capitals A … T. As many as there are, with
/// the special ones.
inline constexpr Size kLookupVocabulary = 4 + 20 + 10 + 20;

struct Lookups {
  Indices source;     ///< (B, 2 · pairs): a letter, what it stands for, …
  Indices questions;  ///< (B, T)
  Indices answers;    ///< (B, T)
};

/// Pairs of a letter and its digit; then all the letters are asked for, in another order.
Lookups draw_lookups(kit::Random random, Size count, Size pairs);
/// Pairs of a letter and the capital of the next one on a ring. The first of four questions is a letter, the
/// others are kit::kStart, "go on": each answer is what the letter answered last stands for.
Lookups draw_trails(kit::Random random, Size count, Size pairs);

/// "a", "0", "A"; "·" for kit::kStart.
std::string lookup_symbol(std::int64_t id);

}  // namespace tapestry::lesson12
