// A mask in tiles: which pairs of queries and keys count, worked out once and used by any number of layers
// and steps. Tiles without a pair cost nothing, and equal tiles are kept once, so a causal mask or a window
// stays small however long the text is.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/simd/attention/attention.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

using simd::QueryKey;  // b, h, i, j: batch row, head, query and key

/// Which pairs of query and key count, in tiles; without a value: all of them. A handle: copies share the
/// tiles.
class BlockMask {
 public:
  /// No mask: all pairs count.
  BlockMask() = default;
  /// Pairs for which may_attend(QueryKey) is true. With `batch` or `heads` above 1 the answer may depend on b
  /// or h; otherwise one answer serves all.
  ///     BlockMask::where(n, n, [](QueryKey p) { return p.j <= p.i && p.i - p.j < 256; })
  template <class F>
  static BlockMask where(Size queries, Size keys, const F& may_attend, Size batch = 1, Size heads = 1);
  /// From a mask (Tq, Tk), (B, Tq, Tk) or (B, …, Tq, Tk): a batch, heads on one axis or more, and pairs. Axes
  /// of size 1 are repeated; a batch of 1, and heads of 1 in all, stand for any number. The mask keeps its
  /// tiles, so layers and steps that share one put it in tiles once.
  static BlockMask from(const Mask& mask, Size queries, Size keys);
  /// The keys that are valid, of a batch row or of each of its queries.
  static BlockMask from(const ValidLengths& lengths, Size queries, Size keys);
  /// As Mask::causal and Mask::window: with fewer queries than keys, as behind a cache, the last query stands
  /// at the last key.
  static BlockMask causal(Size queries, Size keys);
  static BlockMask window(Size queries, Size keys, Size before, Size after);

  /// a & b: both must allow; a | b: either may allow; !a: the opposite. Of the same queries and keys; a batch
  /// or heads of 1 are repeated. Without a mask everything is allowed, and !a of none throws.
  friend BlockMask operator&(const BlockMask& a, const BlockMask& b);
  friend BlockMask operator|(const BlockMask& a, const BlockMask& b);
  friend BlockMask operator!(const BlockMask& a);

  /// Whether some pairs may be left out; without a mask all count.
  bool defined() const { return tiles_ != nullptr; }
  /// batch() and heads() are 1 where one answer serves all; queries() and keys() are 0 without a mask.
  Size batch() const;
  Size heads() const;
  Size queries() const;
  Size keys() const;
  /// The share of tiles that have a pair: the work that is left.
  double share() const;
  /// The same pairs as a mask (batch, heads, Tq, Tk), for ops that want one.
  Mask mask() const;
  /// (batch, heads, Tk, 1): true for keys that some query sees.
  Mask live_keys() const;
  /// The first query that may attend to nothing, if there is one (its j means nothing).
  std::optional<QueryKey> blind_query() const;
  /// For the kernels; valid as long as this mask or a copy of it lives.
  simd::TileMask view() const;

 private:
  struct Tiles;
  class Builder;
  explicit BlockMask(std::shared_ptr<const Tiles> tiles) : tiles_(std::move(tiles)) {}
  static BlockMask tiled(const Mask& mask, Size queries, Size keys);
  template <class F>
  static BlockMask joined(const BlockMask& a, const BlockMask& b, const char* op, const F& f);

  std::shared_ptr<const Tiles> tiles_;
};

/// Which pairs count, in any of the three ways to say it: in tiles, as a Mask that broadcasts to the scores,
/// or as ValidLengths. It is put in tiles where tiles are wanted; a Mask keeps its own (BlockMask::from),
/// lengths are put in tiles at each call.
class AttendMask {
 public:
  /// All pairs.
  AttendMask() = default;
  AttendMask(BlockMask tiles) : tiles_(std::move(tiles)) {}
  AttendMask(Mask mask) : mask_(std::move(mask)) {}
  AttendMask(ValidLengths lengths) : lengths_(std::move(lengths)) {}

  /// Whether some pairs may be left out; without a mask all count.
  bool defined() const { return mask_.defined() || lengths_.defined() || tiles_.defined(); }
  /// Whether it was said in tiles.
  bool in_tiles() const { return tiles_.defined(); }
  /// As a mask that broadcasts to the scores; undefined where all pairs count. Tiles give (Tq, Tk): throws if
  /// they are for more than one batch row or head.
  Mask mask(Size keys) const {
    if (lengths_.defined()) return lengths_.mask(keys);
    return tiles_.defined() ? tiles_.mask().reshape({tiles_.queries(), tiles_.keys()}) : mask_;
  }
  /// For so many queries and keys; undefined where all pairs count.
  BlockMask tiled(Size queries, Size keys) const {
    return mask_.defined()      ? BlockMask::from(mask_, queries, keys)
           : lengths_.defined() ? BlockMask::from(lengths_, queries, keys)
                                : tiles_;
  }

 private:
  BlockMask tiles_;
  Mask mask_;
  ValidLengths lengths_;
};

/// Takes the tiles one after the other: batch, heads, query tiles, key tiles, the last runs fastest.
class BlockMask::Builder {
 public:
  /// Throws for sizes below 0, or a batch or heads below 1.
  Builder(Size queries, Size keys, Size batch, Size heads);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// Where the next tile's pairs go, rows kKeyTile apart, all false.
  bool* next();
  void take(Size b, Size h, Size first_query, Size first_key);
  BlockMask finish();

 private:
  struct Patterns;
  std::shared_ptr<Tiles> tiles_;
  std::unique_ptr<Patterns> patterns_;
};

template <class F>
BlockMask BlockMask::where(Size queries, Size keys, const F& may_attend, Size batch, Size heads) {
  Builder builder(queries, keys, batch, heads);
  for (Size b = 0; b < batch; ++b)
    for (Size h = 0; h < heads; ++h)
      for (Size first_query = 0; first_query < queries; first_query += simd::kQueryTile)
        for (Size first_key = 0; first_key < keys; first_key += simd::kKeyTile) {
          bool* pairs = builder.next();
          const Size end_query = std::min(queries, first_query + simd::kQueryTile);
          const Size end_key = std::min(keys, first_key + simd::kKeyTile);
          for (Size i = first_query; i < end_query; ++i, pairs += simd::kKeyTile)
            for (Size j = first_key; j < end_key; ++j)
              pairs[j - first_key] = may_attend(QueryKey{b, h, i, j});
          builder.take(b, h, first_query, first_key);
        }
  return builder.finish();
}

}  // namespace tapestry
