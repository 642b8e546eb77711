// Dot path of the matmul, for a few rows of a and columns of b that are contiguous in k, as in x·Wᵀ with a short x. It
// multiplies along k without packing the long operand, and sums the lanes at the end.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/simd/horizontal.hpp"
#include "core/simd/lanes.hpp"
#include "core/simd/matmul/blocks.hpp"
#include "core/simd/matmul/matmul.hpp"
#include "core/simd/matmul/tiles.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Operands of one dot tile: row i of a at a + i·a_row and row j of b at b + j·b_row, contiguous in k. Element
/// (i, j) of c starts from start[i·start_row + j·start_col].
template <class T>
struct DotStep {
  const T* a;
  Size a_row;
  const T* b;
  Size b_row;
  Size k;
  T* c;
  Size c_row, c_col;
  const T* start;
  Size start_row, start_col;

  void next_rows(Size count) {
    a += count * a_row;
    c += count * c_row;
    start += count * start_row;
  }
  void next_columns(Size count) {
    b += count * b_row;
    c += count * c_col;
    start += count * start_col;
  }
};

/// c (M × N) = start + a·bᵀ.
template <class T, int M, int N>
void dot_tile(const DotStep<T>& step) {
  constexpr Size kL = kLanes<T>;
  Lanes<T> sum[M][N];
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) sum[i][j] = Lanes<T>(T(0));
  }
  const auto add = [&](const auto& load_at) {
    Lanes<T> a[M];
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) a[i] = load_at(step.a + i * step.a_row);
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      Lanes<T> b = load_at(step.b + j * step.b_row);
      if constexpr (M > 1) keep_in_register(b);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) sum[i][j] = fma(a[i], b, sum[i][j]);
    }
  };
  Size p = 0;
  for (; p + kL <= step.k; p += kL) add([p](const T* row) { return load(row + p); });
  if (p < step.k) add([p, &step](const T* row) { return load_n(row + p, step.k - p); });
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j)
      step.c[i * step.c_row + j * step.c_col] =
          reduce_add(sum[i][j]) + step.start[i * step.start_row + j * step.start_col];
  }
}

inline constexpr Size kDotRows = 3, kDotColumns = 4;

/// c (rows × columns) = start + a·bᵀ with rows ≤ kDotRows, in dot tiles along the columns.
template <class T, int M = 1>
void dot_strip(DotStep<T> step, Size rows, Size columns) {
  if constexpr (M <= kDotRows) {
    if (rows > M) return dot_strip<T, M + 1>(step, rows, columns);
    const auto run = [&](auto width, Size count) {
      for (; columns >= count; columns -= count) {
        dot_tile<T, M, decltype(width)::value>(step);
        step.next_columns(count);
      }
    };
    run(std::integral_constant<int, kDotColumns>{}, kDotColumns);
    run(std::integral_constant<int, 1>{}, 1);
  }
}

/// Returns true if the dot path is best for this product: k is long, one side is short, and an operand that is not
/// contiguous in k is small enough to copy.
template <class T>
bool suits_dot(const Matmul<T>& x) {
  constexpr Size kCopySide = 4, kDepth = 16;
  const bool a_runs = x.a_col == 1, b_runs = x.b_row == 1 || x.k == 1;
  return x.k >= kDepth && ((a_runs && b_runs && std::min(x.m, x.n) <= kShortSide) ||
                           (a_runs && x.n <= kCopySide) || (b_runs && x.m <= kCopySide));
}

/// Computes one product of the batch with dot tiles.
template <class T>
void dot_product(const Matmul<T>& x, const T* a, const T* b, T* c, bool parallel) {
  const bool copy_a = x.a_col != 1, copy_b = x.b_row != 1;
  const Scratch<T> copy(copy_a ? x.m * x.k : copy_b ? x.n * x.k : 0);
  Size a_row = x.a_row, b_col = x.b_col;
  if (copy_a) {
    for (Size i = 0; i < x.m; ++i) {
      for (Size p = 0; p < x.k; ++p) copy.data()[i * x.k + p] = a[i * x.a_row + p * x.a_col];
    }
    a = copy.data(), a_row = x.k;
  } else if (copy_b) {
    for (Size j = 0; j < x.n; ++j) {
      for (Size p = 0; p < x.k; ++p) copy.data()[j * x.k + p] = b[p * x.b_row + j * x.b_col];
    }
    b = copy.data(), b_col = x.k;
  }
  DotStep<T> all{a, a_row, b, b_col, x.k, c, x.c_row, 1, kZeros<T>, 0, 0};
  if (x.accumulate) {
    all.start = c, all.start_row = x.c_row, all.start_col = 1;
  } else if (x.bias != nullptr) {
    all.start = x.bias, all.start_col = 1;
  }
  Size rows = x.m, columns = x.n;
  if (rows > columns) {
    std::swap(all.a, all.b);
    std::swap(all.a_row, all.b_row);
    std::swap(all.c_row, all.c_col);
    std::swap(all.start_row, all.start_col);
    std::swap(rows, columns);
  }
  // If the short operand has several strips, a group of the long operand's rows stays in L1 while all of them use it.
  Size group = rows <= kDotRows ? columns : 32768 / (x.k * static_cast<Size>(sizeof(T)));
  if (parallel) group = std::min(group, ceil_div(columns, thread_count()));
  group = round_up(std::max<Size>(group, 1), kDotColumns);
  const Size strips = ceil_div(rows, kDotRows);  // of about equal height: one-row strips waste the most
  each(parallel, ceil_div(columns, group), [&](Size chunk) {
    DotStep<T> step = all;
    step.next_columns(chunk * group);
    for (Size i = 0; i < strips; ++i) {
      const Size height = rows * (i + 1) / strips - rows * i / strips;
      dot_strip<T>(step, height, std::min(group, columns - chunk * group));
      step.next_rows(height);
    }
  });
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
