// Lesson 30's model and two training tasks: in "updates" it must overwrite symbols, in "sections" it must forget.
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
inline constexpr std::int64_t kForget = kNames, kQuestion = kSymbols, kNothing = kSymbols;

/// A batch of texts. Each word is a name and a symbol. There are three kinds of words: "name = symbol" assigns a
/// symbol; "forget" has its own name, kForget; and the questions at the end of a text, "name = ?", have the symbol
/// kQuestion.
struct Texts {
  Indices names, symbols;  // (B, T)
  Size questions = 0;      // number of questions, the last words of each text
  Indices answers;         // (B, questions): symbols, or kNothing
};
/// Draws texts with `pairs` names and four times as many assignments, at least one for each name. An answer is the
/// symbol that was assigned last to the name.
Texts draw_updates(kit::Random random, Size rows, Size pairs);
/// Draws texts with three sections of `pairs` names each, and "forget" between the sections. The questions
/// are the names of the last section and of one earlier section. For names of the earlier section, the answer is
/// kNothing.
Texts draw_sections(kit::Random random, Size rows, Size pairs);

/// A layer of linear attention, and a small network that computes logits from its reads.
struct MemoryModel : Module {
  explicit MemoryModel(const LinearAttentionOptions& options);
  /// Returns logits (B, questions, kSymbols + 1).
  Tensor operator()(const Texts& texts) const;

  Embedding names, symbols;
  LinearAttention memory;
  Linear hidden, answer;
};

}  // namespace tapestry::lesson30
