// BlockMask, an attention mask in tiles, computed once and shared by any number of layers and steps. Fully
// masked tiles are skipped, and equal tiles are stored once. So a causal mask or a sliding window stays small
// for texts of any length.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/simd/attention/attention.hpp"
#include "core/tensor/mask.hpp"

namespace tapestry {

using simd::QueryKey;  // b, h, i, j: indices of batch row, head, query and key

namespace detail {

/// Calls f(pair) or f(query, key).
template <class F>
bool may_attend(const F& f, const QueryKey& pair) {
  if constexpr (std::is_invocable_v<const F&, const QueryKey&>) {
    return f(pair);
  } else if constexpr (std::is_invocable_v<const F&, Size, Size>) {
    return f(pair.i, pair.j);
  } else {
    static_assert(
        sizeof(F) == 0,
        "BlockMask::where: the lambda must take a QueryKey p, with p.b, p.h, p.i and p.j, or the indices "
        "(Size i, Size j) of query and key, and return bool");
    return false;
  }
}

}  // namespace detail

/// A mask of query-key pairs, in tiles. Copies share the tiles.
class BlockMask {
 public:
  /// No mask: every query may attend to every key.
  BlockMask() = default;
  /// Builds the mask that allows the pairs for which may_attend(QueryKey) is true.
  ///     BlockMask::where(n, n, [](QueryKey p) { return p.j <= p.i && p.i - p.j < 256; })
  /// may_attend may also take the indices of query and key alone, (i, j), as in Mask::from. A mask for one batch row
  /// or one head broadcasts to all; to use p.b or p.h, pass `batch` or `heads`. Throws Error for negative queries or
  /// keys, and for batch or heads below 1.
  template <class F>
  static BlockMask where(Size queries, Size keys, const F& may_attend, Size batch = 1, Size heads = 1);
  /// Converts a mask (Tq, Tk), (B, Tq, Tk) or (B, heads…, Tq, Tk), with one or more axes of heads. Axes of size 1
  /// broadcast. A batch of 1 fits any batch, and a single head any number of heads. The mask caches its tiles, so
  /// that layers and steps that share it convert it once.
  static BlockMask from(const Mask& mask, Size queries, Size keys);
  /// Converts valid lengths, one per batch row or one per query of each row. Throws Error if a length exceeds `keys`
  /// or if there is not one length for each of `queries`.
  static BlockMask from(const ValidLengths& lengths, Size queries, Size keys);
  /// Tiled versions of Mask::causal and Mask::window. With fewer queries than keys, as with a key-value cache, the
  /// last query is aligned with the last key. window() throws Error if `before` or `after` is negative.
  static BlockMask causal(Size queries, Size keys);
  static BlockMask window(Size queries, Size keys, Size before, Size after);

  /// a & b allows the pairs that both allow, a | b the pairs that either allows, and !a the pairs that a masks.
  /// queries() and keys() must be equal; a batch or heads of 1 broadcasts. An undefined mask allows all pairs. All
  /// throw Error for sizes that do not match, and ! for an undefined mask.
  friend BlockMask operator&(const BlockMask& a, const BlockMask& b);
  friend BlockMask operator|(const BlockMask& a, const BlockMask& b);
  friend BlockMask operator!(const BlockMask& a);

  /// Returns false if there is no mask: all pairs are allowed.
  bool defined() const { return tiles_ != nullptr; }
  /// Sizes of the mask. batch() and heads() are 1 if the mask broadcasts; queries() and keys() are 0 without a mask.
  Size batch() const;
  Size heads() const;
  Size queries() const;
  Size keys() const;
  /// Returns the fraction of tiles with an unmasked pair. The kernel skips the others.
  double density() const;
  /// Returns the same pairs as a dense mask (batch, heads, Tq, Tk).
  Mask mask() const;
  /// Returns a mask (batch, heads, Tk, 1): true for keys to which at least one query may attend.
  Mask live_keys() const;
  /// Returns the first query whose keys are all masked, if there is one. Its j has no meaning.
  std::optional<QueryKey> fully_masked_query() const;
  /// Returns the view for the kernels, valid while this mask or a copy of it lives. Requires defined().
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

/// A mask in any of three forms: a BlockMask, a Mask that broadcasts to the scores, or ValidLengths.
class AttendMask {
 public:
  /// No mask: every query may attend to every key.
  AttendMask() = default;
  AttendMask(BlockMask tiles) : tiles_(std::move(tiles)) {}
  AttendMask(Mask mask) : mask_(std::move(mask)) {}
  AttendMask(ValidLengths lengths) : lengths_(std::move(lengths)) {}
  /// Fails to compile: a mask must be boolean.
  template <std::derived_from<Tensor> Numbers>
  AttendMask(const Numbers&) {
    static_assert(
        sizeof(Numbers) == 0,
        "a mask must be a Mask, a BlockMask or ValidLengths, true where a query may attend; make one of "
        "numbers with a comparison, as in greater(x, zeros(x.shape()))");
  }

  /// Returns false if there is no mask: all pairs are allowed.
  bool defined() const { return mask_.defined() || lengths_.defined() || tiles_.defined(); }
  /// Returns true if it was constructed from a defined BlockMask.
  bool in_tiles() const { return tiles_.defined(); }
  /// Returns a mask that broadcasts to the scores, or an undefined one if all pairs are allowed. A BlockMask becomes
  /// (Tq, Tk); throws Error if it has more than one batch row or head.
  Mask mask(Size keys) const {
    if (lengths_.defined()) return lengths_.mask(keys);
    return tiles_.defined() ? tiles_.mask().reshape({tiles_.queries(), tiles_.keys()}) : mask_;
  }
  /// Returns the mask in tiles, or an undefined one if all pairs are allowed. A Mask is converted once and caches the
  /// tiles (BlockMask::from); lengths are converted at each call.
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

/// Builds a BlockMask tile by tile, in the order batch, heads, query tiles, key tiles; the last varies fastest.
class BlockMask::Builder {
 public:
  /// Throws Error for negative queries or keys, and for batch or heads below 1.
  Builder(Size queries, Size keys, Size batch, Size heads);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// Returns the buffer for the next tile: kQueryTile rows of kKeyTile elements, all false (masked).
  bool* next();
  /// Appends the tile in the buffer, whose first pair is (first_query, first_key).
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
              pairs[j - first_key] = detail::may_attend(may_attend, QueryKey{b, h, i, j});
          builder.take(b, h, first_query, first_key);
        }
  return builder.finish();
}

}  // namespace tapestry
