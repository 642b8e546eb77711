// Lesson 30's two training tasks, updates of pairs and chapters to forget, and its model.
#pragma once

#include <array>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/recurrent/linear_attention.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson30 {

inline constexpr Size kNames = 64, kSymbols = 16;  // the keys and the values
inline constexpr std::int64_t kForget = kNames, kAsked = kSymbols, kNothing = kSymbols;

/// A batch of texts. Each word is a name and a symbol: "name = symbol", "forget" (which has a name for itself), or, at
/// the end, the question "name = ?".
struct Texts {
  Indices names, symbols;  // (B, T)
  Size questions = 0;      // number of questions, the last words of each text
  Indices answers;         // (B, questions): symbols, or kNothing
};
/// Draws texts with `pairs` names, each written at least once, and four times as many writes in all. The answer is the
/// last symbol of a name.
Texts draw_updates(kit::Random random, Size rows, Size pairs);
/// Draws texts with three chapters of `pairs` names each, and "forget" between them. The questions are the names of the
/// last chapter and of an earlier one, for which the answer is kNothing.
Texts draw_chapters(kit::Random random, Size rows, Size pairs);

/// One layer of linear attention with one head, and a small network that turns its reads into logits.
struct Notebook : Module {
  explicit Notebook(const LinearAttentionOptions& options);
  /// Returns logits (B, questions, kSymbols + 1).
  Tensor operator()(const Texts& texts) const;

  Embedding names, symbols;
  LinearAttention memory;
  Linear hidden, answer;
};

}  // namespace tapestry::lesson30
