// Packing for the matmul: copies operands into the order in which the register tile reads them.
//
// b is packed into panels of kTileVectors vectors: a panel holds row 0, row 1, … row k - 1 of its columns, with zeros
// after the last column. a is packed into panels of a tile's rows: column 0, column 1, … Transposed operands are
// transposed in registers, kLanes × kLanes elements at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/simd/horizontal.hpp"
#include "core/simd/lanes.hpp"
#include "core/simd/matmul/tiles.hpp"
#include "core/simd/runtime/arch.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Number of columns of a packed panel of b.
template <class T>
inline constexpr Size kPanelColumns = kTileVectors* kLanes<T>;

namespace packing {

using internal::RawVector;

/// Exchanges the off-diagonal blocks of kStep lanes between two rows that are kStep apart.
template <class T, Size kStep, Size... kLane>
inline void exchange(typename RawVector<T>::Type& x, typename RawVector<T>::Type& y,
                     std::integer_sequence<Size, kLane...>) {
  constexpr Size kL = kLanes<T>;
  const auto low = __builtin_shufflevector(x, y, ((kLane & kStep) != 0 ? kL + kLane - kStep : kLane)...);
  const auto high = __builtin_shufflevector(x, y, ((kLane & kStep) != 0 ? kL + kLane : kLane + kStep)...);
  x = low;
  y = high;
}

template <class T, Size kStep>
inline void transpose_lanes(typename RawVector<T>::Type (&rows)[kLanes<T>]) {
  if constexpr (kStep > 0) {
#pragma GCC unroll 16
    for (Size r = 0; r < kLanes<T>; ++r) {
      if ((r & kStep) == 0) {
        exchange<T, kStep>(rows[r], rows[r + kStep], std::make_integer_sequence<Size, kLanes<T>>{});
      }
    }
    transpose_lanes<T, kStep / 2>(rows);
  }
}

/// to[p·to_row + j] = from[j·from_row + p] for j, p < kLanes.
template <class T>
inline void transpose_block(const T* from, Size from_row, T* to, Size to_row) {
  typename RawVector<T>::Type rows[kLanes<T>];
#pragma GCC unroll 16
  for (Size r = 0; r < kLanes<T>; ++r) std::memcpy(&rows[r], from + r * from_row, sizeof rows[r]);
  transpose_lanes<T, kLanes<T> / 2>(rows);
#pragma GCC unroll 16
  for (Size r = 0; r < kLanes<T>; ++r) std::memcpy(to + r * to_row, &rows[r], sizeof rows[r]);
}

/// to[p·rows + i] = from[i·from_row + p] for i < rows ≤ kTileRows and p < kLanes.
template <class T>
inline void transpose_rows(const T* from, Size from_row, Size rows, T* to) {
  constexpr Size kL = kLanes<T>, kGroups = (kTileRows<T> + kL - 1) / kL;
  typename RawVector<T>::Type group[kGroups][kL];
#pragma GCC unroll 4
  for (Size g = 0; g < kGroups; ++g) {
#pragma GCC unroll 16
    for (Size r = 0; r < kL; ++r) {
      const Size i = std::min(g * kL + r, rows - 1);  // missing rows repeat the last
      std::memcpy(&group[g][r], from + i * from_row, sizeof group[g][r]);
    }
    transpose_lanes<T, kL / 2>(group[g]);
  }
#pragma GCC unroll 16
  for (Size p = 0; p < kL; ++p) {
#pragma GCC unroll 4
    for (Size g = 0; g < kGroups; ++g) {
      if (g * kL < rows) std::memcpy(to + p * rows + g * kL, &group[g][p], sizeof group[g][p]);
    }
  }
}

}  // namespace packing

/// Packs one panel: to[p·kPanelColumns + j] = b[p·row + j·col] for p < k and j < columns, 0 in the columns after.
template <class T>
void pack_b_panel(const T* b, Size row, Size col, Size k, Size columns, T* to) {
  constexpr Size kWide = kPanelColumns<T>, kL = kLanes<T>;
  Size done = 0;  // columns already packed as whole vectors
  if (col == 1 && columns == kWide) {
    for (Size p = 0; p < k; ++p) {
#pragma GCC unroll 8
      for (int v = 0; v < kTileVectors; ++v) store(to + p * kWide + v * kL, load(b + p * row + v * kL));
    }
    return;
  }
  if (row == 1) {
    for (; done + kL <= columns; done += kL) {
      Size p = 0;
      for (; p + kL <= k; p += kL)
        packing::transpose_block(b + p + done * col, col, to + p * kWide + done, kWide);
      for (; p < k; ++p) {
        for (Size j = done; j < done + kL; ++j) to[p * kWide + j] = b[p + j * col];
      }
    }
  }
  for (Size p = 0; p < k; ++p) {
    for (Size j = done; j < columns; ++j) to[p * kWide + j] = b[p * row + j * col];
    for (Size j = columns; j < kWide; ++j) to[p * kWide + j] = T(0);
  }
}

/// Number of elements that pack_a() needs for m rows of length k: its last vector may extend beyond the last panel.
template <class T>
constexpr Size packed_a_size(Size m, Size k) {
  return m * k + kLanes<T>;
}

/// Packs rows [0, m) of a into panels of next_tile_rows rows: within a panel of M rows,
/// to[p·M + i] = a[i·row + p·col].
template <class T>
void pack_a(const T* a, Size row, Size col, Size m, Size k, T* to) {
  constexpr Size kL = kLanes<T>;
  for (Size rows = 0; m > 0; m -= rows, a += rows * row, to += rows * k) {
    rows = next_tile_rows<T>(m);
    Size p = 0;
    if (col == 1) {
      // kLanes columns of the panel at a time, transposed in registers. A short column is also stored as a whole
      // vector; the next column overwrites the excess.
      for (; p + kL <= k; p += kL) packing::transpose_rows(a + p, row, rows, to + p * rows);
    } else if (row == 1 && rows == kTileRows<T>) {
      for (; p < k; ++p) std::memcpy(to + p * rows, a + p * col, sizeof(T) * kTileRows<T>);
    }
    for (; p < k; ++p) {
      for (Size i = 0; i < rows; ++i) to[p * rows + i] = a[i * row + p * col];
    }
  }
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
