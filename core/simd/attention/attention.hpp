// Tiled attention: softmax(scale·Q Kᵀ)·V without the (queries, keys) matrix, forward and backward.
//
// Source: the online softmax (Milakov & Gimelshein 2018, arXiv 1805.02867) in tiles (FlashAttention, Dao et al. 2022,
// arXiv 2205.14135). The loop over tiles is in forward.cpp. It saves one number per query, the scores' log-sum-exp.
#pragma once

#include <cstdint>

#include "core/simd/attention/learned_sums.hpp"
#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// A pair: query i and key j, in head h of batch row b.
struct QueryKey {
  Size b = 0, h = 0, i = 0, j = 0;
};

/// A tile of scores has kQueryTile queries and kKeyTile keys. Its queries form kStrips strips of kStrip queries.
inline constexpr Size kQueryTile = 48, kKeyTile = 96, kStrip = 12, kStrips = kQueryTile / kStrip;

/// Range [begin, end). In an empty range, both are 0.
struct Span {
  Size begin = 0, end = 0;
};

/// Strided (batch, heads, rows, columns) array; columns are contiguous. batch, head and row are strides.
template <class T>
struct Heads {
  T* data = nullptr;
  Size batch = 0, head = 0, row = 0;

  T* at(Size b, Size h) const { return data + b * batch + h * head; }
  operator Heads<const T>() const { return {data, batch, head, row}; }
};

/// Block mask: the unmasked pairs, tile by tile.
struct TileMask {
  static constexpr std::int32_t kNone = -1, kAll = -2;  ///< tile with no pair, or all pairs, unmasked

  Size batch = 1, heads = 1;  ///< 1: broadcasts
  Size query_tiles = 0, key_tiles = 0, keys = 0;
  const std::int32_t* tiles = nullptr;  ///< (batch, heads, query_tiles, key_tiles): a pattern, kNone or kAll
  const bool* patterns = nullptr;       ///< (patterns, kQueryTile, kKeyTile): true = may attend
  const Span* strips = nullptr;     ///< (patterns, kStrips): from the strip's first unmasked key to its last
  const bool* live_keys = nullptr;  ///< (batch, heads, keys): unmasked for some query; null: all are

  /// Returns the index of the first tile, or key, of head h of batch row b; `per_item` is their number per head.
  Size item(Size b, Size h, Size per_item) const {
    return ((batch == 1 ? 0 : b) * heads + (heads == 1 ? 0 : h)) * per_item;
  }
};

/// A tile of scores and its position.
template <class T>
struct ScoreTile {
  T* scores = nullptr;  ///< (queries, keys), row stride kKeyTile; all kKeyTile values of a row are accessible
  Size batch = 0, head = 0, first_query = 0, first_key = 0, queries = 0, keys = 0;
  const bool* live = nullptr;  ///< (queries, kKeyTile): unmasked pairs; null: all
};

/// Changes the scores before the softmax. It is virtual, so that the kernel is compiled once; a call handles a whole
/// tile. Several threads call it at once. Derivatives and gradients have the layout of the scores.
template <class T>
class TileScore {
 public:
  virtual ~TileScore() = default;
  /// Changes the scores in place.
  virtual void forward(const ScoreTile<T>& tile) const = 0;
  /// Changes the scores in place, and writes the derivative of each new score with respect to the old one to `slopes`.
  virtual void forward(const ScoreTile<T>& tile, T* slopes) const = 0;
  /// Adds the gradients of the learned values to `learned`. `tile` has the old scores; `d` is the gradient of the new
  /// ones.
  virtual void backward(const ScoreTile<T>& tile, const T* d, LearnedSums& learned) const = 0;
  /// Number of learned values.
  virtual Size learned() const { return 0; }
};

/// Matrix whose rows are `row` elements apart.
template <class T>
struct Tile {
  T* data;
  Size row;
};

/// Computes scores other than scale·q·k. Several threads call it at once.
template <class T>
class TilePairs {
 public:
  virtual ~TilePairs() = default;
  /// Fills the tile's scores from its queries and keys.
  virtual void forward(const ScoreTile<T>& tile, Tile<const T> query, Tile<const T> key) const = 0;
  /// Adds the gradients of queries, keys and learned values, given the gradients `d` of the scores in their layout.
  virtual void backward(const ScoreTile<T>& tile, const T* d, Tile<const T> query, Tile<const T> key,
                        Tile<T> d_query, Tile<T> d_key, double* learned) const = 0;
  virtual Size learned() const { return 0; }
};

/// Dropout of weights: a weight becomes 0 if its random word (random.hpp) is below the threshold; otherwise it is
/// multiplied by `scale`. Words are numbered like the elements of a dense (batch, heads, queries, keys) array.
struct DropWeights {
  std::uint32_t threshold = 0;
  double scale = 1;
  std::uint64_t key = 0, site = 0;
};

/// Inputs of attention. Each group of `group_size` query heads has the same keys and values.
template <class T>
struct Attention {
  Size batch = 0, heads = 0, group_size = 1, queries = 0, keys = 0, width = 0, value_width = 0;
  T scale = T(1);
  Heads<const T> query, key, value;     ///< key and value have heads / group_size heads
  const TileMask* mask = nullptr;       ///< null: no mask
  const TilePairs<T>* pairs = nullptr;  ///< computes the scores; null: scale·q·k
  const TileScore<T>* score = nullptr;  ///< changes the scores; null: unchanged
  const T* sink = nullptr;  ///< (heads): score of one extra key in the softmax, with value 0; null: none
  const DropWeights* drop = nullptr;  ///< null: no dropout
};

/// out[i, :] = Σ_j softmax_j(score(scale·q_i·k_j))·v_j over the unmasked pairs, and lse[i] = ln Σ_j exp(…) (batch,
/// heads, queries). A query without pairs, or only with scores of −∞, gets exactly out = 0 and lse = −∞, even with a
/// sink. Keys and values to which no query may attend have no effect.
template <class T>
void attention_forward(const Attention<T>& x, Heads<T> out, T* lse);

/// Computes all gradients from d_out and, unless null, d_lse. `d_learned` receives those of the values learned by
/// x.pairs, then by x.score. They are summed in f64, in an order that depends on the shapes alone. The sums need 8
/// bytes per learned value, and 8 more for each value that a running task reads.
template <class T>
void attention_backward(const Attention<T>& x, Heads<const T> out, const T* lse, Heads<const T> d_out,
                        const T* d_lse, Heads<T> d_query, Heads<T> d_key, Heads<T> d_value, T* d_learned);

extern template void attention_forward(const Attention<float>&, Heads<float>, float*);
extern template void attention_forward(const Attention<double>&, Heads<double>, double*);
extern template void attention_backward(const Attention<float>&, Heads<const float>, const float*,
                                        Heads<const float>, const float*, Heads<float>, Heads<float>,
                                        Heads<float>, float*);
extern template void attention_backward(const Attention<double>&, Heads<const double>, const double*,
                                        Heads<const double>, const double*, Heads<double>, Heads<double>,
                                        Heads<double>, double*);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
