// Pairs that are written again, and chapters that are to be forgotten: what the rules of lesson 30 are trained
// on, and the model.
#pragma once

#include <array>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/recurrent/linear_attention.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson30 {

inline constexpr Size kNames = 64, kSymbols = 16;  // keys, and values
inline constexpr std::int64_t kForget = kNames, kAsked = kSymbols, kNothing = kSymbols;

/// Texts of words, each a name and a symbol: "name = symbol", "forget" (of a name of its own), or, at the end,
/// "name = ?".
struct Texts {
  Indices names, symbols;  // (B, T)
  Size questions = 0;      // the last so many words
  Indices answers;         // (B, questions): symbols, or kNothing
};
/// `pairs` names, each written at least once, four times as many writes in all; the last symbol of a name counts.
Texts draw_updates(kit::Random random, Size rows, Size pairs);
/// Three chapters with `pairs` names each, "forget" between them. Asked are the names of the last chapter, and of
/// one before: of them nothing is known any more.
Texts draw_chapters(kit::Random random, Size rows, Size pairs);

/// One layer of linear attention with one head, and a small network that names what it has read.
struct Notebook : Module {
  explicit Notebook(const LinearAttentionOptions& options);
  /// Logits (B, questions, kSymbols + 1).
  Tensor operator()(const Texts& texts) const;

  Embedding names, symbols;
  LinearAttention memory;
  Linear hidden, answer;
};

}  // namespace tapestry::lesson30
