// What tiled attention is made of, forward and backward: tiles copied out of their strides, products of tiles
// on the matmul's register tile, masks.
//
// All tiles are dense, their rows padded with zeros to whole vectors, so that no product has ragged columns;
// turned ones to whole panels, as they are packed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/simd/arch.hpp"
#include "core/simd/attention.hpp"
#include "core/simd/batch.hpp"
#include "core/simd/matmul_blocks.hpp"
#include "core/simd/matmul_pack.hpp"
#include "core/simd/matmul_tiles.hpp"
#include "core/simd/row_loop.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// The weight of a score that lies x below its row's largest, or below its log-sum-exp. The faintest are
/// exactly 0: no sum would show them, and their products lie below the normal numbers, where processors of
/// Intel's take some hundred cycles for each.
template <class T>
inline Batch<T> weight_of(Batch<T> x) {
  constexpr T kFaintest = T(0.7) * internal::ExpConstants<T>::kNormalLow;
  return select(x < Batch<T>(kFaintest), Batch<T>(T(0)), exp_nonpositive(x));
}

/// Whether threads pay.
template <class T>
bool worth_threads(const Attention<T>& x) {
  return thread_count() > 1 && x.batch * x.heads * x.queries * x.keys * (x.width + x.value_width) >= 1 << 18;
}

/// So many keys in whole panels.
template <class T>
constexpr Size padded(Size keys) {
  return round_up(keys, kPanelColumns<T>);
}
/// A width in whole vectors.
template <class T>
constexpr Size whole_vectors(Size width) {
  return round_up(width, kLanes<T>);
}

/// c (rows × columns) = a·b, or += with `add`; columns are whole vectors. Column panel p of b starts at
/// b + p·b_panel.
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

template <class T>
void multiply(const TileProduct<T>& x) {
  TileStep<T> step;
  step.a_row = x.a_row, step.a_col = x.a_col;
  step.b = x.b, step.b_row = x.b_row;
  step.k = x.k;
  step.c_row = x.c_row;
  step.start = kZeros<T>, step.start_row = x.add ? x.c_row : 0;
  for (Size j = 0; j < x.columns; j += kPanelColumns<T>, step.b += x.b_panel) {
    const Size vectors = std::min<Size>(kTileVectors, (x.columns - j) / kLanes<T>);
    step.b_last = (vectors - 1) * kLanes<T>;
    for (Size i = 0, rows = 0; i < x.rows; i += rows) {
      rows = next_tile_rows<T>(x.rows - i);
      step.a = x.a + i * x.a_row;
      step.c = x.c + i * x.c_row + j;
      if (x.add) step.start = step.c;
      TileTable<T>::at(rows, vectors)(step);
    }
  }
}

/// c = a·b where b is a tile read along its rows.
template <class T>
void multiply_rows(Size rows, Size columns, Size k, const T* a, Size a_row, Size a_col, Tile<const T> b,
                   Tile<T> c, bool add) {
  multiply<T>({rows, columns, k, a, a_row, a_col, b.data, b.row, kPanelColumns<T>, c.data, c.row, add});
}

/// c = a·bᵀ where b was turned by turn_rows.
template <class T>
void multiply_turned(Size rows, Size columns, Size k, Tile<const T> a, const T* turned, Tile<T> c) {
  multiply<T>({rows, padded<T>(columns), k, a.data, a.row, 1, turned, kPanelColumns<T>, kPanelColumns<T> * k,
               c.data, c.row, false});
}

/// Rows [first, first + rows) of x times `scale` as a tile; 0 where `live` (null: all are) says no.
template <class T>
void copy_rows(const T* x, Size x_row, Size rows, Size width, T scale, const bool* live, Tile<T> to) {
  constexpr Size kL = kLanes<T>;
  for (Size i = 0; i < rows; ++i) {
    T* out = to.data + i * to.row;
    const T* from = x + i * x_row;
    Size c = 0;
    if (live == nullptr || live[i]) {
      for (; c + kL <= width; c += kL) store(out + c, load(from + c) * Batch<T>(scale));
      for (; c < width; ++c) out[c] = from[c] * scale;
    }
    std::fill(out + c, out + to.row, T(0));
  }
}

/// A tile's rows as columns, in panels for multiply_turned.
template <class T>
void turn_rows(Tile<const T> tile, Size rows, Size width, T* to) {
  for (Size j = 0; j < rows; j += kPanelColumns<T>)
    pack_b_panel(tile.data + j * tile.row, 1, tile.row, width, std::min(kPanelColumns<T>, rows - j),
                 to + j * width);
}

/// to (rows × width) = the tile's.
template <class T>
void write_rows(Tile<const T> tile, Size rows, Size width, T* to, Size to_row) {
  for (Size i = 0; i < rows; ++i) std::copy_n(tile.data + i * tile.row, width, to + i * to_row);
}

/// Which pairs of the item (b, h) count in the tile at (query tile, key tile): kNone, kAll or a pattern.
inline std::int32_t pairs_at(const TileMask* mask, Size b, Size h, Size query_tile, Size key_tile) {
  if (mask == nullptr) return TileMask::kAll;
  const Size item = mask->item(b, h, mask->query_tiles * mask->key_tiles);
  return mask->tiles[item + query_tile * mask->key_tiles + key_tile];
}

/// −∞ where a pair does not count, and behind the last key up to whole panels.
template <class T>
void hide(const ScoreTile<T>& tile) {
  for (Size i = 0; i < tile.queries; ++i) {
    T* row = tile.scores + i * kKeyTile;
    if (tile.live != nullptr) {
      // Whole rows of bytes: GCC makes vectors neither of bools nor of a count that it does not know.
      const auto* live = reinterpret_cast<const unsigned char*>(tile.live + i * kKeyTile);
      for (Size j = 0; j < kKeyTile; ++j) row[j] = live[j] != 0 ? row[j] : -kInfinity<T>;
    }
    std::fill(row + tile.keys, row + padded<T>(tile.keys), -kInfinity<T>);
  }
}

/// Whether the heads [first, first + count) of batch b see each of the `keys` keys from first_key on; null:
/// they see all.
inline const bool* seen_keys(const TileMask* mask, Size b, Size first, Size count, Size first_key, Size keys,
                             bool* to) {
  if (mask == nullptr || mask->seen == nullptr) return nullptr;
  std::fill_n(to, keys, false);
  for (Size h = first; h < first + count; ++h) {
    const bool* seen = mask->seen + mask->item(b, h, mask->keys) + first_key;
    for (Size j = 0; j < keys; ++j) to[j] |= seen[j];
  }
  return to;
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
