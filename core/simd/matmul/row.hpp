// Product of one row with a matrix that is read in place, in the order of its memory.
//
// A register tile would read a few columns of every row of b, then the next few. That defeats the prefetch of the
// hardware once b is larger than the L1 cache. Here each pass adds several whole rows of b to c, which stays in L1.
// The terms of an element are added in the same order as in a tile, so the bits are the same.
#pragma once

#include "core/simd/lanes.hpp"
#include "core/simd/matmul/tiles.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// c (columns) += a[0]·b[0] + … + a[R - 1]·b[R - 1], where b[r] is a row of b. `columns` is a multiple of two vectors.
template <class T, int R>
void add_rows(const T* a, Size a_col, const T* b, Size b_row, T* c, Size columns) {
  constexpr Size kL = kLanes<T>;
  Lanes<T> factor[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) factor[r] = Lanes<T>(a[r * a_col]);
  for (Size j = 0; j < columns; j += 2 * kL) {
    Lanes<T> left = load(static_cast<const T*>(c) + j), right = load(static_cast<const T*>(c) + j + kL);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      left = fma(factor[r], load(b + r * b_row + j), left);
      right = fma(factor[r], load(b + r * b_row + j + kL), right);
    }
    store(c + j, left);
    store(c + j + kL, right);
  }
}

/// c (columns) += a (k)·b (k × columns). `columns` is a multiple of two vectors.
template <class T>
void add_row_product(const T* a, Size a_col, const T* b, Size b_row, Size k, T* c, Size columns) {
  constexpr int kRows = 4;  // more rows per pass are no faster
  for (; k >= kRows; k -= kRows, a += kRows * a_col, b += kRows * b_row)
    add_rows<T, kRows>(a, a_col, b, b_row, c, columns);
  for (; k > 0; --k, a += a_col, b += b_row) add_rows<T, 1>(a, a_col, b, b_row, c, columns);
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
