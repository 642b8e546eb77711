// Attention in tiles: softmax(scale·Q Kᵀ)·V without the (queries, keys) matrix, forward and backward.
//
// Source: the online softmax (Milakov & Gimelshein 2018, arXiv 1805.02867) in tiles (Dao et al. 2022, arXiv
// 2205.14135). What is kept from forward is one number a query, the logarithm of its sum (log-sum-exp).
#pragma once

#include <cstdint>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// A pair: query i of head h of batch row b, and key j.
struct QueryKey {
  Size b = 0, h = 0, i = 0, j = 0;
};

/// A tile of scores: so many queries by so many keys. Its queries are cut into strips.
inline constexpr Size kQueryTile = 48, kKeyTile = 96, kStrip = 12, kStrips = kQueryTile / kStrip;

/// From the first to the one behind the last; none: both are 0.
struct Span {
  Size begin = 0, end = 0;
};

/// (batch, heads, rows, columns) by strides; columns are contiguous.
template <class T>
struct Heads {
  T* data = nullptr;
  Size batch = 0, head = 0, row = 0;

  T* at(Size b, Size h) const { return data + b * batch + h * head; }
  operator Heads<const T>() const { return {data, batch, head, row}; }
};

/// Which pairs count, tile by tile.
struct TileMask {
  static constexpr std::int32_t kNone = -1, kAll = -2;  ///< of a tile's pairs

  Size batch = 1, heads = 1;  ///< 1: one for all
  Size query_tiles = 0, key_tiles = 0, keys = 0;
  const std::int32_t* tiles = nullptr;  ///< (batch, heads, query_tiles, key_tiles): a pattern, kNone or kAll
  const bool* patterns = nullptr;       ///< (patterns, kQueryTile, kKeyTile): true = may attend
  const Span* strips = nullptr;         ///< (patterns, kStrips): the keys that some query of the strip sees
  const bool* live_keys = nullptr;      ///< (batch, heads, keys): some query sees it; null: all are

  /// The first of an item's tiles, or of its keys, of which it has `per_item`.
  Size item(Size b, Size h, Size per_item) const {
    return ((batch == 1 ? 0 : b) * heads + (heads == 1 ? 0 : h)) * per_item;
  }
};

/// A tile and where it stands.
template <class T>
struct ScoreTile {
  T* scores = nullptr;  ///< (queries, keys), rows kKeyTile apart; up to there a row may be read and written
  Size batch = 0, head = 0, first_query = 0, first_key = 0, queries = 0, keys = 0;
  const bool* live = nullptr;  ///< (queries, kKeyTile): pairs that count; null: all
};

/// What is done to scores before the softmax. Two indirect calls a tile, so the kernel is compiled once.
/// Called from several threads at once. Slopes and gradients are laid out as the scores.
template <class T>
class TileScore {
 public:
  virtual ~TileScore() = default;
  /// Changes the scores in place.
  virtual void forward(const ScoreTile<T>& tile) const = 0;
  /// The same, and how fast each changes with the one that was given: for backward, where it takes one
  /// evaluation for both.
  virtual void forward(const ScoreTile<T>& tile, T* slopes) const = 0;
  /// Adds the gradients of what is learned to `learned`, sums of f64; `tile` has the scores as they were
  /// given, `d` is the gradient of what forward made of them.
  virtual void backward(const ScoreTile<T>& tile, const T* d, double* learned) const = 0;
  /// How many numbers are learned.
  virtual Size learned() const { return 0; }
};

/// Rows beside each other, `row` apart.
template <class T>
struct Tile {
  T* data;
  Size row;
};

/// How scores are made where they are not scale·q·k. Called from several threads at once.
template <class T>
class TilePairs {
 public:
  virtual ~TilePairs() = default;
  /// Fills the tile's scores from its queries and keys.
  virtual void forward(const ScoreTile<T>& tile, Tile<const T> query, Tile<const T> key) const = 0;
  /// Adds the gradients of queries, keys and what is learned, from those of the scores, `d` (laid out as
  /// they).
  virtual void backward(const ScoreTile<T>& tile, const T* d, Tile<const T> query, Tile<const T> key,
                        Tile<T> d_query, Tile<T> d_key, double* learned) const = 0;
  virtual Size learned() const { return 0; }
};

/// Dropout of weights: that of a pair is times `scale`, or 0 where its word of the stream (random.hpp) is
/// below the threshold. Words are numbered as the pairs of (batch, heads, queries, keys) are.
struct DropWeights {
  std::uint32_t threshold = 0;
  double scale = 1;
  std::uint64_t key = 0, site = 0;
};

/// One batch of attentions. Heads share keys and values in groups of `share` (1: each has its own).
template <class T>
struct Attention {
  Size batch = 0, heads = 0, share = 1, queries = 0, keys = 0, width = 0, value_width = 0;
  T scale = T(1);
  Heads<const T> query, key, value;     ///< key and value have heads / share heads
  const TileMask* mask = nullptr;       ///< none: all pairs count
  const TilePairs<T>* pairs = nullptr;  ///< what makes the scores; none: scale·q·k
  const TileScore<T>* score = nullptr;  ///< what is done to them then; none: nothing
  const T* sink = nullptr;  ///< (heads): the score of one more key in the softmax, of value 0; none: no such
  const DropWeights* drop = nullptr;  ///< none: all weights stay
};

/// out[i, :] = Σ_j softmax_j(score(scale·q_i·k_j))·v_j over the pairs that count, and lse[i] = ln Σ_j exp(…)
/// (batch, heads, queries). A query with no pairs, or only some whose score is −∞, gets exactly 0, and −∞,
/// with a sink too. Keys and values that no query sees touch nothing.
template <class T>
void attention_forward(const Attention<T>& x, Heads<T> out, T* lse);

/// The gradients of everything, from those of out and, unless null, of lse. `d_learned`, what pairs and then
/// score learn, is summed in an order that the shapes fix.
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
