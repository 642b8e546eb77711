// Building blocks of tiled attention, forward and backward: tiles copied from strided arrays, products of tiles on the
// matmul's register tile, and masks.
//
// All tiles are dense. Their rows are padded with zeros to whole vectors, so that no product has ragged columns.
// Transposed tiles are packed in whole panels of kPanelColumns columns, as in core/simd/matmul/pack.hpp.
//
//     keys →                 In a partly masked tile, each strip of 12 queries has its own span of keys, from
//     ┌──────────┐           the first to the last unmasked key of its queries. Sums over keys cover this
//     │###       │ strip 0   span, and scores are computed for its whole panels. Weights outside it are 0,
//     │######    │ strip 1   and sums over queries skip the strips whose spans do not contain their keys.
//     │########  │           A causal text of 64 tokens thus costs two thirds of the full square.
//     └──────────┘
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/simd/attention/attention.hpp"
#include "core/simd/lanes.hpp"
#include "core/simd/matmul/blocks.hpp"
#include "core/simd/matmul/pack.hpp"
#include "core/simd/matmul/tiles.hpp"
#include "core/simd/random.hpp"
#include "core/simd/rows/row_loop.hpp"
#include "core/simd/runtime/arch.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Returns e^x, the weight of a score; x is the score minus its row's maximum or log-sum-exp. The smallest weights are
/// flushed to 0: they would not change a sum, and products with them could be subnormal, which costs about a hundred
/// cycles each on Intel processors.
template <class T>
inline Lanes<T> weight_of(Lanes<T> x) {
  constexpr T kFaintest = T(0.7) * internal::ExpConstants<T>::kNormalLow;
  return select(x < Lanes<T>(kFaintest), Lanes<T>(T(0)), exp_nonpositive(x));
}

/// Returns true if the work is large enough for several threads.
template <class T>
bool worth_threads(const Attention<T>& x) {
  return thread_count() > 1 && x.batch * x.heads * x.queries * x.keys * (x.width + x.value_width) >= 1 << 18;
}

/// Rounds a number of keys up to whole panels.
template <class T>
constexpr Size padded(Size keys) {
  return round_up(keys, kPanelColumns<T>);
}
/// Rounds a width up to whole vectors.
template <class T>
constexpr Size whole_vectors(Size width) {
  return round_up(width, kLanes<T>);
}

/// Part of a tile that is computed: a span of keys for each strip.
template <class T>
class Strips {
 public:
  /// Takes the spans of a TileMask's pattern; null: all keys.
  Strips(const Span* strips, Size keys) : keys_(keys) {
    for (Size s = 0; s < kStrips; ++s) spans_[s] = strips == nullptr ? Span{0, keys} : strips[s];
  }
  /// Calls body(i, panels) for each query i, with the span of its strip rounded to whole panels.
  template <class Body>
  void each_query(Size queries, const Body& body) const {
    for (Size first = 0; first < queries; first += kStrip) {
      const Span panels = in_panels(spans_[first / kStrip]);
      for (Size i = first; i < std::min(first + kStrip, queries); ++i) body(i, panels);
    }
  }
  /// Span of the keys of some queries, exact or in whole panels; span of the queries of some keys, in whole strips.
  Span keys_of(Size query, Size queries) const {
    return joined(query / kStrip, (query + queries - 1) / kStrip, [&](Size s) { return spans_[s]; });
  }
  Span panels_of(Size query, Size queries) const { return in_panels(keys_of(query, queries)); }
  Span queries_of(Size key, Size keys, Size queries) const {
    const Span strips = joined(0, kStrips - 1, [&](Size s) {
      const bool meet = spans_[s].begin < key + keys && key < spans_[s].end;
      return meet ? Span{s * kStrip, (s + 1) * kStrip} : Span{};
    });
    return {strips.begin, std::min(strips.end, queries)};
  }
  Size padded_keys() const { return padded<T>(keys_); }

 private:
  static Span in_panels(Span keys) {
    return {keys.begin / kPanelColumns<T> * kPanelColumns<T>, padded<T>(keys.end)};
  }
  template <class SpanAt>
  static Span joined(Size first, Size last, const SpanAt& span_at) {
    Span all;
    for (Size s = first; s <= last; ++s) {
      const Span one = span_at(s);
      if (one.end == 0) continue;
      all = all.end == 0 ? one : Span{std::min(all.begin, one.begin), std::max(all.end, one.end)};
    }
    return all;
  }

  Span spans_[kStrips];
  Size keys_;
};

/// Operands of c (rows × columns) = a·b, or c += a·b with `add`. `columns` is a multiple of the vector size. Column
/// panel p of b starts at b + p·b_panel.
template <class T>
struct TileProduct {
  Size rows, columns, k;
  const T* a;
  Size a_row, a_col;
  const T* b;
  Size b_row, b_panel;
  T* c;
  Size c_row;
  bool add;
};

/// Computes the product. For rows [i, i + n), computes only the columns columns_of(i, n), in whole panels, and adds
/// only the terms terms_of(i, n) of their sums; the others must be 0.
template <class T, class ColumnsOf, class TermsOf>
void multiply(const TileProduct<T>& x, const ColumnsOf& columns_of, const TermsOf& terms_of) {
  struct RowTile {
    Size first, rows;
    Span columns, terms;
  };
  RowTile tiles[kKeyTile / kTileRows<T> + 1];
  Size count = 0;
  for (Size i = 0, rows = 0; i < x.rows; i += rows) {
    rows = next_tile_rows<T>(x.rows - i);
    tiles[count++] = {i, rows, columns_of(i, rows), terms_of(i, rows)};
  }
  TileStep<T> step;
  step.a_row = x.a_row, step.a_col = x.a_col;
  step.b_row = x.b_row;
  step.c_row = x.c_row;
  step.start = kZeros<T>, step.start_row = x.add ? x.c_row : 0;
  const T* panel = x.b;
  for (Size j = 0; j < x.columns; j += kPanelColumns<T>, panel += x.b_panel) {
    const Size vectors = std::min<Size>(kTileVectors, (x.columns - j) / kLanes<T>);
    step.b_last = (vectors - 1) * kLanes<T>;
    for (const RowTile* tile = tiles; tile < tiles + count; ++tile) {
      if (j < tile->columns.begin || j >= tile->columns.end) continue;
      step.a = x.a + tile->first * x.a_row + tile->terms.begin * x.a_col;
      step.b = panel + tile->terms.begin * x.b_row;
      step.k = tile->terms.end - tile->terms.begin;
      step.c = x.c + tile->first * x.c_row + j;
      if (x.add) step.start = step.c;
      TileTable<T>::at(tile->rows, vectors)(step);
    }
  }
}

/// c += a·b, where b is a tile read along its rows; see multiply() for terms_of(i, n).
template <class T, class TermsOf>
void add_product(Size rows, Size columns, Size k, const T* a, Size a_row, Size a_col, Tile<const T> b,
                 Tile<T> c, const TermsOf& terms_of) {
  multiply<T>(
      {rows, columns, k, a, a_row, a_col, b.data, b.row, kPanelColumns<T>, c.data, c.row, true},
      [=](Size, Size) {
        return Span{0, columns};
      },
      terms_of);
}

/// c = a·bᵀ in the strips' panels: scores from queries a and keys b, which transpose_rows() has transposed.
template <class T>
void multiply_transposed(const Strips<T>& strips, Size queries, Size k, Tile<const T> a, const T* transposed,
                         Tile<T> c) {
  multiply<T>(
      {queries, strips.padded_keys(), k, a.data, a.row, 1, transposed, kPanelColumns<T>, kPanelColumns<T> * k,
       c.data, c.row, false},
      [&](Size i, Size rows) { return strips.panels_of(i, rows); },
      [=](Size, Size) {
        return Span{0, k};
      });
}

/// Copies rows of x, times `scale`, into a tile. Rows where `live` is false become 0; null: all are copied.
template <class T>
void copy_rows(const T* x, Size x_row, Size rows, Size width, T scale, const bool* live, Tile<T> to) {
  constexpr Size kL = kLanes<T>;
  for (Size i = 0; i < rows; ++i) {
    T* out = to.data + i * to.row;
    const T* from = x + i * x_row;
    Size c = 0;
    if (live == nullptr || live[i]) {
      for (; c + kL <= width; c += kL) store(out + c, load(from + c) * Lanes<T>(scale));
      for (; c < width; ++c) out[c] = from[c] * scale;
    }
    std::fill(out + c, out + to.row, T(0));
  }
}

/// Transposes a tile into panels for multiply_transposed().
template <class T>
void transpose_rows(Tile<const T> tile, Size rows, Size width, T* to) {
  for (Size j = 0; j < rows; j += kPanelColumns<T>)
    pack_b_panel(tile.data + j * tile.row, 1, tile.row, width, std::min(kPanelColumns<T>, rows - j),
                 to + j * width);
}

/// Copies a tile to `to` (rows × width).
template <class T>
void write_rows(Tile<const T> tile, Size rows, Size width, T* to, Size to_row) {
  for (Size i = 0; i < rows; ++i) std::copy_n(tile.data + i * tile.row, width, to + i * to_row);
}

/// Returns the mask of a tile in head h of batch row b: kNone, kAll or a pattern's index.
inline std::int32_t pairs_at(const TileMask* mask, Size b, Size h, Size query_tile, Size key_tile) {
  if (mask == nullptr) return TileMask::kAll;
  const Size item = mask->item(b, h, mask->query_tiles * mask->key_tiles);
  return mask->tiles[item + query_tile * mask->key_tiles + key_tile];
}

/// Returns the strips of a tile. If x.pairs or x.score is set, they are whole, since these work on whole tiles.
template <class T>
Strips<T> strips_of(const Attention<T>& x, std::int32_t pairs, Size keys) {
  const bool all = pairs < 0 || x.pairs != nullptr || x.score != nullptr;
  return {all ? nullptr : x.mask->strips + pairs * kStrips, keys};
}

/// Sets masked scores, and those after the last key, to −∞ in the strips' panels.
template <class T>
void mask_scores(const ScoreTile<T>& tile, const Strips<T>& strips) {
  if (tile.live == nullptr && tile.keys == strips.padded_keys()) return;
  strips.each_query(tile.queries, [&](Size i, Span panels) {
    T* row = tile.scores + i * kKeyTile;
    if (tile.live != nullptr) {
      // Whole panels of bytes: GCC vectorises neither bools nor a loop whose length it does not know.
      const auto* live = reinterpret_cast<const unsigned char*>(tile.live + i * kKeyTile);
      for (Size first = panels.begin; first < panels.end; first += kPanelColumns<T>)
        for (Size j = first; j < first + kPanelColumns<T>; ++j)
          row[j] = live[j] != 0 ? row[j] : -kInfinity<T>;
    }
    for (Size j = tile.keys; j < panels.end; ++j) row[j] = -kInfinity<T>;
  });
}

/// Sets the values of a row outside its strip's panels to 0.
template <class T>
void clear_outside(Span panels, const Strips<T>& strips, T* row) {
  if (panels.begin > 0) std::fill(row, row + panels.begin, T(0));
  if (panels.end < strips.padded_keys()) std::fill(row + panels.end, row + strips.padded_keys(), T(0));
}

/// Applies dropout to a tile of weights or of their gradients. Its random words are generated again each time.
template <class T>
void apply_dropout(const Attention<T>& x, const ScoreTile<T>& tile, T* values) {
  const T scale = static_cast<T>(x.drop->scale);
  for (Size i = 0; i < tile.queries; ++i) {
    std::uint32_t words[kKeyTile];
    const Size row = (tile.batch * x.heads + tile.head) * x.queries + tile.first_query + i;
    random_words(words, tile.keys, x.drop->key, x.drop->site, row * x.keys + tile.first_key);
    T* to = values + i * kKeyTile;
    for (Size j = 0; j < tile.keys; ++j) to[j] = words[j] >= x.drop->threshold ? to[j] * scale : T(0);
  }
}

/// Fills and returns `to`: true for each of the keys [first_key, first_key + keys) to which a query of the heads
/// [first, first + count) of batch row b may attend. Returns null if the mask allows all keys.
inline const bool* live_in_tile(const TileMask* mask, Size b, Size first, Size count, Size first_key,
                                Size keys, bool* to) {
  if (mask == nullptr || mask->live_keys == nullptr) return nullptr;
  std::fill_n(to, keys, false);
  for (Size h = first; h < first + count; ++h) {
    const bool* live = mask->live_keys + mask->item(b, h, mask->keys) + first_key;
    for (Size j = 0; j < keys; ++j) to[j] |= live[j];
  }
  return to;
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
