// Causality, shorter texts and caches.
#include <fmt/format.h>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "nn/check/checked_block.hpp"

namespace tapestry::detail {

std::string CheckedBlock::causal() const {
  for (const Size length : check_.lengths) {
    const Tensor x = input(length), other = input(length, 1), y = whole(x);
    for (Size t = 0; t + 1 < length; ++t) {
      const auto change = [&](Size begin, Size end) {
        return largest_gap(tokens(whole(with_tokens(x, other, begin, end)), 0, t + 1), tokens(y, 0, t + 1));
      };
      Gap gap = change(t + 1, length);
      if (!differs(gap, y)) continue;
      Size later = t + 1;
      for (Size j = t + 1; j < length; ++j)
        if (const Gap alone = change(j, j + 1); differs(alone, y)) {
          later = j;
          gap = alone;
          break;
        }
      return fmt::format(
          "in a text of {} tokens, the result at token {} changes by {:.1e} if token {} changes, which comes later. A "
          "pair that pairs.mask() hides must have the weight 0, and must not enter a sum, a mean or a largest value",
          length, gap.token, gap.by, later);
    }
  }
  return {};
}

std::string CheckedBlock::prefix() const {
  for (const Size length : check_.lengths) {
    const Tensor x = input(length), y = whole(x);
    for (const Size first : {Size{1}, length / 2, length - 1}) {
      const Gap gap = largest_gap(whole(tokens(x, 0, first)), tokens(y, 0, first));
      if (differs(gap, y))
        return fmt::format(
            "the first {} of {} tokens alone give another result at token {}, by {:.1e}. Does something depend on the "
            "number of keys, such as scores.size(-1), or on an average over the text?{}",
            first, length, gap.token, gap.by,
            normalises_a_sink()
                ? " With learned_sink, the last column of the scores is the sink, which has no position"
                : "");
    }
  }
  return {};
}

std::string CheckedBlock::cache() const {
  const auto make = [this](Size queries, Size keys) { return given(queries, keys); };
  for (const Size length : check_.lengths) {
    const Tensor x = input(length), y = whole(x);
    if (const Gap gap = first_gap(in_parts(x, {length}, make), y); differs(gap, y))
      return fmt::format(
          "next() differs from operator() already for a whole text of {} tokens: at token {}, by {:.1e}. Does it use the same "
          "queries, keys, values, rows of the batch and pairs?",
          length, gap.token, gap.by);
    const std::vector<std::vector<Size>> ways = {
        std::vector<Size>(static_cast<std::size_t>(length), 1), {1, length - 1}, {length - 1, 1}};
    for (const std::vector<Size>& parts : ways) {
      const Gap gap = first_gap(in_parts(x, parts, make), y);
      if (differs(gap, y))
        return fmt::format(
            "read through a cache as {} tokens, the result at token {} differs by {:.1e} from the whole text's. With a "
            "cache, query i is at position i + keys − queries, which is pairs.first() + i, and earlier tokens are known from "
            "the cache alone",
            sum_of(parts), gap.token, gap.by);
    }
  }
  return {};
}

std::string CheckedBlock::moved_cache() const {
  const Size length = check_.lengths.front(), half = length / 2;
  const Tensor x = input(length), other = input(length, 1), y = whole(x);
  const Tensor start = tokens(x, 0, half), rest = tokens(x, half, length), wanted = tokens(y, half, length);
  KeyValueCache cache(2);
  next(start, cache);
  KeyValueCache copy = cache;
  next(tokens(other, half, length), cache);
  if (differs(largest_gap(next(rest, copy), wanted), y))
    return "a copy of the cache changes when the cache goes on. Keep all that a text needs in the KeyValueCache, not in "
           "members of the layer";
  cache = KeyValueCache(2);
  next(start, cache);
  const KeyValueCache::Snapshot snapshot = cache.snapshot();
  next(tokens(other, half, length), cache);
  cache.rewind(snapshot);
  if (differs(largest_gap(next(rest, cache), wanted), y))
    return "after cache.rewind(), the text goes on with another result. Store tokens with cache.append() and a state "
           "with cache.set_state() only";
  const auto exchanged = [](const Tensor& rows) {
    return concat({slice(rows, 0, 1, 2), slice(rows, 0, 0, 1)}, 0);
  };
  cache = KeyValueCache(2);
  next(start, cache);
  cache.reorder_rows({1, 0});
  if (differs(largest_gap(next(exchanged(rest), cache), exchanged(wanted)), y))
    return "after cache.reorder_rows({1, 0}), which a beam search calls, the rows go on with other results. What is "
           "stored in the cache must have the batch as its first axis, and must be all that the layer keeps";
  return {};
}

}  // namespace tapestry::detail
