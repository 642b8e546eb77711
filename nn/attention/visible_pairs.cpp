#include "nn/attention/visible_pairs.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tapestry {

VisiblePairs::VisiblePairs(const VisibilityRule& rule, Size queries, Size keys, Mask mask,
                           std::vector<Size> positions)
    : rule_(rule),
      queries_(queries),
      keys_(keys),
      caller_mask_(std::move(mask)),
      positions_(std::move(positions)) {
  if (rule.window < 0 || rule.sink_tokens < 0 || (rule.window == 0 && rule.sink_tokens > 0))
    fail("[pairs] window and sink_tokens must be at least 0, and sink_tokens needs a window, got {} and {}",
         rule.window, rule.sink_tokens);
  if (queries < 0 || queries > keys)
    fail("[pairs] the queries must be the last tokens of the keys, got {} queries and {} keys", queries,
         keys);
  if (!positions_.empty() && (static_cast<Size>(positions_.size()) != keys ||
                              *std::min_element(positions_.begin(), positions_.end()) < 0))
    fail("[pairs] positions must be at least 0, one for each of the {} keys, got {} positions from {} on",
         keys, positions_.size(), *std::min_element(positions_.begin(), positions_.end()));
  if (!caller_mask_.defined()) return;
  const auto fits = [&](int back, Size size) {
    const Size got = caller_mask_.rank() < back ? 1 : caller_mask_.shape().from_back(back);
    return got == 1 || got == size;
  };
  if (!fits(1, keys) || !fits(2, queries))
    fail(
        "[pairs] mask must broadcast to (…, {} queries, {} keys), got {}; with a cache the keys are all tokens so far",
        queries, keys, to_string(caller_mask_.shape()));
}

bool VisiblePairs::sees(Size query, Size key) const {
  if (rule_.causal && key > query + first()) return false;
  const auto position = [this](Size i) {
    return positions_.empty() ? i : positions_[static_cast<std::size_t>(i)];
  };
  const Size ahead = position(key) - position(query + first());
  return rule_.window == 0 || std::abs(ahead) < rule_.window || position(key) < rule_.sink_tokens;
}

/// Returns true if the rule may hide a pair. A single query is the last token, so causality hides no key from it.
bool VisiblePairs::hides() const {
  if (rule_.causal && queries_ > 1) return true;
  if (rule_.window == 0) return false;
  if (positions_.empty()) return keys_ > rule_.window;
  const auto [first, last] = std::minmax_element(positions_.begin(), positions_.end());
  return *last - *first >= rule_.window;
}

AttendMask VisiblePairs::for_attend() const {
  if (caller_mask_.defined()) return visible();
  if (!hides()) return {};
  if (rule_.window == 0) return BlockMask::causal(queries_, keys_);
  return BlockMask::where(queries_, keys_, [this](QueryKey pair) { return sees(pair.i, pair.j); });
}

Mask VisiblePairs::visible() const {
  if (!hides()) return caller_mask_;
  if (rule_.window == 0) return Mask::causal(queries_, keys_) & caller_mask_;
  return Mask::from(queries_, keys_, [this](Size i, Size j) { return sees(i, j); }) & caller_mask_;
}

/// Inserts axes for the heads, because a mask (B, Tq, Tk) would otherwise broadcast along the heads if there are B of
/// them.
Mask VisiblePairs::with_head_axes(Mask mask, int axes) {
  if (!mask.defined() || mask.rank() < 3) return mask;
  if (mask.rank() == 4 && mask.shape()[1] == 1)
    mask = mask.reshape({mask.shape()[0], mask.shape()[2], mask.shape()[3]});
  if (mask.rank() > 3 && axes != 1)
    fail(
        "[pairs] a mask for each head must meet scores (B, heads, Tq, Tk), got mask {} and {} axes for the heads",
        to_string(mask.shape()), axes);
  if (mask.rank() == 3)
    for (int i = 0; i < axes; ++i) mask = mask.unsqueeze(1);
  return mask;
}

VisiblePairs VisiblePairs::of_whole_text() const {
  if (caller_mask_.defined() && queries_ != keys_)
    fail(
        "[pairs] without a mask for the earlier tokens the whole text cannot be computed again, got a mask for {} of {} "
        "tokens; override SelfAttention::next() to use a mask with a cache",
        queries_, keys_);
  return {rule_, keys_, keys_, caller_mask_, positions_};
}

}  // namespace tapestry
