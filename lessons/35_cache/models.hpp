// The four kinds of attention that the chapter compares, as language models, and their cached bytes.
#pragma once

#include <array>
#include <string>

#include "nn/transformer/language_model.hpp"

namespace tapestry::lesson35 {

/// Multi-head, grouped-query, multi-query and multi-head latent attention.
enum class Kind { mha, gqa, mqa, mla };
inline constexpr std::array<Kind, 4> kKinds = {Kind::mha, Kind::gqa, Kind::mqa, Kind::mla};

/// Returns "MHA", "GQA", "MQA" or "MLA".
std::string name_of(Kind kind);

/// Sizes of a model. KV heads, rank and rotary width follow from the heads: GQA has one KV head for four query
/// heads; MLA has a rank of 4 · head width and a rotary part of head width / 2, the ratios of DeepSeek-V2.
struct ModelSizes {
  Size layers = 2;      // blocks
  Size width = 64;      // d
  Size heads = 8;       // query heads
  Size hidden = 0;      // units of the feed-forward layer; 0: 4 · width
  Size vocabulary = 0;  // number of tokens

  /// Returns d_h, the width of one head.
  Size head_width() const { return width / heads; }
};

/// Returns the options of a GPT with rotary positions and this kind of attention.
TransformerOptions model_options(Kind kind, const ModelSizes& sizes);

/// Returns the numbers that one block stores for one token, by the chapter's formula.
Size numbers_per_token(Kind kind, const ModelSizes& sizes);

/// Returns the bytes of all keys and values in a cache.
Size bytes_in(const StackCache& cache);

}  // namespace tapestry::lesson35
