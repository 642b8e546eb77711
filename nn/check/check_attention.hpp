// check_attention() tests a custom attention in a transformer block: gradients, causality, caches, masks and copies.
//
//     BlockOptions options{.width = 8};
//     options.attention = self_attention<MyAttention>(8);  // or a score, a score_mod, a normaliser
//     const AttentionCheckResult result = check_attention(options);
//     if (!result.ok()) std::printf("%s", result.report().c_str());
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nn/transformer/block.hpp"

namespace tapestry {

/// Options of check_attention().
struct AttentionCheckOptions {
  /// Lengths of the checked texts, in tokens. The parts "causal", "prefix", "cache" and "mask" check a text of each
  /// length, the other parts only the first. By default, the second text needs several tiles of attend(). Choose
  /// shorter lengths for an attention with a maximum length.
  std::vector<Size> lengths = {12, 100};
  /// Allowed difference, relative to max(largest result, 1e-3). It applies to all parts but "gradients", "second
  /// derivatives", "f32" and "copies".
  double tolerance = 1e-9;
  /// Seed of the inputs and parameters.
  std::uint64_t seed = 1;
  /// Returns the mask for the last `queries` of `keys` tokens, always the same for the same arguments. If it is empty,
  /// there is no mask. The part "fully masked query" uses another mask.
  std::function<Mask(Size queries, Size keys)> mask = {};
  /// If false, the parts "mask", "mask, cached" and "fully masked query" are skipped. Set it to false for an attention
  /// that takes no mask, such as one with a state of constant size.
  bool takes_masks = true;
};

/// Result of one part of check_attention().
struct AttentionCheckPart {
  std::string name;     // name of the part, such as "causal"
  bool ok = true;       // false if the property does not hold, or if the layer threw an error
  std::string finding;  // what differed and the likely cause; if ok, a remark or nothing
};

/// Result of check_attention().
struct AttentionCheckResult {
  /// The parts in the order of check_attention()'s list, without those that were skipped.
  std::vector<AttentionCheckPart> parts;

  /// Returns true if all parts are ok. The conversion to bool returns the same.
  bool ok() const;
  explicit operator bool() const { return ok(); }
  /// Returns a text with one line for each part and its finding. A wrong gradient has the lines of gradcheck's report.
  std::string report() const;
};

/// Checks the self-attention of a TransformerBlock with these options. The block has no feed-forward layer and is in
/// eval mode. Inputs and parameters are random, in f64: each parameter is its initial value plus 0.2 times a standard
/// normal number. `kind` sets causality and positions.
///
/// These are the parts. A part with * runs only if the attention is causal. A part is skipped if a part in the
/// column "needs" failed, or was skipped for the same reason; all parts need "calls". If the layer throws an Error, the
/// part fails.
///     part                  needs           property
///     calls                                 a second call with the same input has the same results, and so has mask()
///     construction                          a second block with the same parameters has the same results
///     gradients             construction    gradcheck of an input of min(6, first length) tokens and of each parameter
///                                           that changes the result
///     second derivatives    gradients       gradgradcheck of the same, along one random direction per argument
///     batch                                 the results of a batch row do not depend on another row
///     sink                                  a masked column after the keys does not change the normaliser's weights;
///                                           only with learned_sink and a normaliser other than softmax_weights
///     causal *                              the result at a token does not depend on later tokens
///     prefix *              causal, sink    the first tokens alone have the same results as in the whole text
///     cache *               prefix          tokens read through a cache, in parts of several sizes, have the same
///                                           results as the whole text
///     cache, moved *        cache           same, after the cache was copied, its rows were exchanged, or rewind() was
///                                           called
///     mask                  batch           a masked token does not affect the results at other tokens; each row of
///                                           the batch can have its own mask
///     mask, cached *        mask, cache     a mask has the same effect with a cache; an error here is only a
///                                           remark, no failure
///     fully masked query                    if a query may see no key, all results and gradients are finite
///     f32                   construction    results in f32 agree with those in f64, to 1e-4 relative to
///                                           max(largest result, 1e-3)
///     copies                construction    clone() and load_state() reproduce the results, bit for bit; every
///                                           variable is a parameter
///
/// Throws Error for cross-attention, for no lengths or one below 2, and if no block can be made with these options.
AttentionCheckResult check_attention(const BlockOptions& options, const BlockKind& kind = {.causal = true},
                                     const AttentionCheckOptions& check_options = {});

}  // namespace tapestry
