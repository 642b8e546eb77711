// check_attention: checks an attention of your own beyond its gradients, inside a transformer block.
//
//     BlockOptions options{.width = 8};
//     options.attention = self_attention<MyAttention>(8);  // or a score, a score_mod, a normaliser
//     const AttentionCheck check = check_attention(options);
//     if (!check.ok()) std::printf("%s", check.report().c_str());
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nn/transformer/block.hpp"

namespace tapestry {

/// Options of check_attention().
struct AttentionCheckOptions {
  /// Lengths of the checked texts, in tokens. By default, the second one is longer than a tile of attend(). Choose
  /// smaller ones for an attention with a largest length. The gradients are checked at 6 tokens or the first length.
  std::vector<Size> lengths = {12, 70};
  /// Allowed difference, relative to the largest result.
  double tolerance = 1e-9;
  /// Seed of the inputs and parameters.
  std::uint64_t seed = 1;
  /// Mask of the last `queries` of `keys` tokens, which every run gets; undefined: none.
  std::function<Mask(Size queries, Size keys)> mask = {};
  /// Set to false for an attention that takes no mask, such as one with a state of constant size.
  bool takes_masks = true;
};

/// Result of one part of check_attention().
struct AttentionCheckPart {
  std::string name;     // name of the part, such as "causal"
  bool passed = true;   // false if the property does not hold, or if the layer threw an error
  std::string finding;  // what differed and the likely cause; for a passed part, a remark or nothing
};

/// Result of check_attention().
struct AttentionCheck {
  std::vector<AttentionCheckPart> parts;  // in the order of check_attention()'s list

  /// Returns true if all parts passed. The conversion to bool returns the same.
  bool ok() const;
  explicit operator bool() const { return ok(); }
  /// Returns a text with one line for each part, and its finding.
  std::string report() const;
};

/// Checks the self-attention of a TransformerBlock made with these options, without its feed-forward layer, in f64 and
/// eval mode. Input and parameters are random: each parameter is its initial value plus 0.2 times a normal number.
/// The parts, of which those with * need a causal block:
///     gradients            gradcheck of the input and of all parameters that have an influence
///     second derivatives   gradgradcheck of the same along random directions
///     batch                no row of the batch depends on another row
///     causal *             no token depends on a later one
///     prefix *             the first tokens alone have the same results as within the longer text
///     cache *              tokens read through a cache, in parts of several sizes, have the same results as all at once
///     cache, moved *       the same after the cache was copied, after its rows were exchanged, and after go_back()
///     mask                 a token that a mask hides has no influence; each row of the batch can have its own mask
///     mask, cached *       the same mask with a cache; a layer that throws an error instead passes, with a remark
///     blind query          a query that may see no key has finite results and gradients
///     f32                  the results in f32 agree with those in f64
///     copies               clone() and load_state() reproduce the results, bit for bit
/// A part that would fail for the reason of an earlier one is left out: "prefix" after a failure of "causal". An error
/// of the layer fails its part. Throws Error for cross-attention, for lengths below 2, and if no block can be made
/// with these options.
AttentionCheck check_attention(const BlockOptions& options, const BlockKind& kind = {.causal = true},
                               const AttentionCheckOptions& check = {});

}  // namespace tapestry
