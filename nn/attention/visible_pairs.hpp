// The visible pairs of self-attention: the causal mask, a sliding window with sinks, and the caller's mask, combined.
#pragma once

#include <vector>

#include "core/attention/block_mask.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Rule for the pairs that self-attention may use.
struct VisibilityRule {
  /// No query sees a later key.
  bool causal = false;
  /// Each query sees the last `window` keys, its own included (Beltagy et al. 2020); 0: no limit. Unless attention is
  /// causal, it sees the next window − 1 keys as well. A causal window is Mask::window(queries, keys, window − 1, 0).
  Size window = 0;
  /// Number of first keys that every query sees (if causal, every later query) in addition to its window (Xiao et al.
  /// 2023).
  Size sink_tokens = 0;
};

/// Visible pairs of self-attention. The keys are all Tk tokens of a text so far, and the queries are the last Tq of
/// them: query i is token first() + i. Every self-attention layer gets its pairs in this form, with and without a
/// cache.
class VisiblePairs {
 public:
  /// `mask`, if given, hides more pairs. It broadcasts to (Tq, Tk), (B, Tq, Tk) or (B, heads, Tq, Tk). Throws if the
  /// rule is out of range, if there are more queries than keys, or if the mask does not fit them. `positions`, if
  /// given, has the position of each token, for the window and the sinks. Each token must then come after those that it
  /// may see.
  VisiblePairs(const VisibilityRule& rule, Size queries, Size keys, Mask mask = {},
               std::vector<Size> positions = {});

  Size queries() const { return queries_; }        // Tq
  Size keys() const { return keys_; }              // Tk
  Size first() const { return keys_ - queries_; }  // index of the first query
  /// Returns the position of each token; empty if it is the token's index.
  const std::vector<Size>& positions() const { return positions_; }
  /// Returns the caller's mask alone; undefined without one.
  const Mask& caller_mask() const { return caller_mask_; }
  /// Returns the visible pairs for scores (B, heads, Tq, Tk), as a mask (Tq, Tk), (B, 1, Tq, Tk) or (B, heads, Tq, Tk);
  /// undefined if all pairs are visible.
  Mask mask() const { return with_head_axes(visible(), 1); }
  /// Returns the same for scores with another number of axes for the heads: none, (B, Tq, Tk), or several.
  /// Throws Error for a mask that differs between heads, unless the scores have one such axis.
  Mask mask_for(const Tensor& scores) const { return with_head_axes(visible(), scores.rank() - 3); }
  /// Returns the same for attend() and PreparedKV: a BlockMask, or a Mask if the caller gave one; undefined if all
  /// pairs are visible.
  AttendMask for_attend() const;
  /// Returns the pairs of all tokens with all tokens. Throws if the caller gave a mask for the last tokens alone.
  VisiblePairs of_whole_text() const;

 private:
  bool hides() const;
  /// Returns the visible pairs with the axes of the caller's mask.
  Mask visible() const;
  static Mask with_head_axes(Mask mask, int axes);
  bool sees(Size query, Size key) const;

  VisibilityRule rule_;
  Size queries_, keys_;
  Mask caller_mask_;
  std::vector<Size> positions_;
};

}  // namespace tapestry
