// Packing for the matmul: operands copied into the order in which the register tile reads them.
//
// b becomes panels of kTileVectors vectors: panel j holds row 0, row 1, … row k - 1 of its columns, one after
// the other, with zeros behind the last column. a becomes panels of a tile's rows: column 0, column 1, …
// Transposed operands are turned in registers, kLanes × kLanes elements at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/simd/arch.hpp"
#include "core/simd/batch.hpp"
#include "core/simd/matmul_tiles.hpp"
#include "core/simd/memory.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// The columns of a packed panel of b.
template <class T>
inline constexpr Size kPanelColumns = kTileVectors* kLanes<T>;

namespace packing {

template <class T>
struct RawVector {
  typedef T Type __attribute__((vector_size(static_cast<std::size_t>(kLanes<T>) * sizeof(T))));
};

/// Exchanges, between two rows that are kStep apart, the blocks of kStep lanes that are kStep from the
/// diagonal.
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

}  // namespace packing

/// One panel: to[p·kPanelColumns + j] = b[p·row + j·col] for p < k and j < columns, 0 in the columns after.
template <class T>
void pack_b_panel(const T* b, Size row, Size col, Size k, Size columns, T* to) {
  constexpr Size kWide = kPanelColumns<T>, kL = kLanes<T>;
  Size done = 0;  // columns that whole vectors have taken care of
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

/// Rows [0, m) of a in panels of next_tile_rows rows: within a panel of M rows, to[p·M + i] = a[i·row +
/// p·col].
template <class T>
void pack_a(const T* a, Size row, Size col, Size m, Size k, T* to) {
  for (Size rows = 0; m > 0; m -= rows) {
    rows = next_tile_rows<T>(m);
    if (row == 1 && rows == kTileRows<T>) {
      for (Size p = 0; p < k; ++p) std::memcpy(to + p * rows, a + p * col, sizeof(T) * kTileRows<T>);
    } else if (rows == kTileRows<T>) {
      for (Size p = 0; p < k; ++p) {
#pragma GCC unroll 16
        for (Size i = 0; i < kTileRows<T>; ++i) to[p * kTileRows<T> + i] = a[i * row + p * col];
      }
    } else {
      for (Size p = 0; p < k; ++p) {
        for (Size i = 0; i < rows; ++i) to[p * rows + i] = a[i * row + p * col];
      }
    }
    a += rows * row;
    to += rows * k;
  }
}

/// Scratch memory of the pool.
template <class T>
class Scratch {
 public:
  explicit Scratch(Size count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(count > 0 ? static_cast<T*>(pool_allocate(bytes_)) : nullptr) {}
  ~Scratch() { pool_release(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_;
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
