// Random tokens, with a mark on those whose symbol occurs exactly twice. For lesson 16.
#pragma once

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

inline constexpr Size kTokenKinds = 32, kTokens = 24;  // size of the vocabulary; tokens in a sequence

struct MarkedTokens {
  Indices tokens;   ///< (B, 24)
  Indices answers;  ///< (B, 24): 1 where the token's symbol occurs exactly twice in its row, else 0
};

/// Draws `rows` sequences. Each token is a random symbol.
MarkedTokens draw_marked(Random random, Size rows);

}  // namespace tapestry::kit
