// One attention variant inside a LanguageModel, and the checks that every variant must pass.
#pragma once

#include "nn/transformer/transformer.hpp"
#include "tests/nn/transformer/variants/loops.hpp"

namespace tapestry::testing {

struct Variant {
  std::string name;
  /// Sets the options of a model with blocks of width 8 and two heads.
  std::function<void(TransformerOptions&)> set;
  /// The layer in plain loops: inputs (T, 8) → (T, 8).
  std::function<Rows(const Weights&, const Rows& x, const Sees& sees)> by_loops;
  /// Pairs in addition to the causal ones, in loops; must agree with the options and with `mask`.
  Sees sees = [](std::size_t, std::size_t) { return true; };
  /// Mask (Tq, Tk) of the last Tq of Tk tokens, which the model gets as an argument.
  std::function<Mask(Size queries, Size keys)> mask = {};
  /// False for a layer that computes with hidden tokens too, as AttentionCheckOptions::takes_masks.
  bool takes_masks = true;
};

/// Checks a variant in a model of two layers: compares with plain loops, reads the text through a cache in parts, copies
/// and reorders the cache. Its attention must pass check_attention(), gradients included.
void check_variant(const Variant& variant);

}  // namespace tapestry::testing
