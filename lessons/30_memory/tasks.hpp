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

inline constexpr Size kNames = 64;                   ///< names 0 … 63, the keys
inline constexpr Size kSymbols = 16;                 ///< symbols 0 … 15, the values
inline constexpr std::int64_t kForget = kNames;      ///< id in `names` of the word "forget"
inline constexpr std::int64_t kQuestion = kSymbols;  ///< id in `symbols` of a question's "?"
inline constexpr std::int64_t kNothing = kSymbols;   ///< answer for a name that was forgotten

/// A batch of B texts of T words. Each word is a pair of a name and a symbol. There are three kinds: "name = symbol"
/// assigns a symbol; "forget" has the name kForget and symbol 0; a question, "name = ?", has the symbol kQuestion. The
/// questions are at the end of the text.
struct Texts {
  Indices names, symbols;  // (B, T)
  Size questions = 0;      // number of questions, the last words of each text
  Indices answers;         // (B, questions): symbols, or kNothing
};
/// Draws `batch` texts with `pairs` names each and four times as many assignments, at least one for each name. At the
/// end, there is one question for each name. Its answer is the symbol that was assigned last to the name. Throws Error
/// unless `batch` is at least 1 and `pairs` from 1 to kNames.
Texts draw_updates(kit::Random random, Size batch, Size pairs);
/// Draws `batch` texts with three sections of `pairs` names each, and "forget" between the sections. Each section
/// assigns one symbol to each of its names. The questions alternate between the names of the last section and those of
/// one earlier section. For the latter, the answer is kNothing. Throws Error unless `batch` is at least 1 and `pairs`
/// from 1 to kNames / 3.
Texts draw_sections(kit::Random random, Size batch, Size pairs);

/// A layer of linear attention, and a small network that computes logits from the layer's output at the questions.
struct MemoryModel : Module {
  /// `options.width` must be 32, the width of the embeddings.
  explicit MemoryModel(const LinearAttentionOptions& options);
  /// Returns logits (B, questions, kSymbols + 1).
  Tensor operator()(const Texts& texts) const;

  Embedding names, symbols;
  LinearAttention memory;
  Linear hidden, answer;
};

}  // namespace tapestry::lesson30
