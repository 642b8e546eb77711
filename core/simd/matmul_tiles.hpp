// The matmul's inner loops: the register tile that all products run on, and the dot tile for thin ones.
//
//        b  ┌────┬────┐ one row of V vectors       The register tile keeps M × V vectors of c in registers
//        and, for
//           └────┴────┘                            each p < k, adds (column p of a) × (row p of b): V loads
//           and M
//     a ┌─┐ ┌────┬────┐                            broadcasts for M·V multiply-adds. 6 × 2 fills the 16
//     registers of
//       │ │ │    │    │                            AVX2, 12 × 2 most of AVX-512's 32. Every M up to that
//       exists, so
//     M │ │ │  c │    │                            rows that are left over cost no more than their share, and
//     thin
//       │ │ │    │    │                            ones are wide instead: 1 × 8, 2 × 4, 3 × 4.
//       └─┘ └────┴────┘
// The dot tile serves a few rows against rows of b that are contiguous in k (x·Wᵀ with a short x): it
// multiplies along k without packing anything and sums the lanes at the end.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "core/simd/arch.hpp"
#include "core/simd/batch.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// The height of a full register tile: 12 with 32 vector registers, 6 with 16.
template <class T>
inline constexpr int kTileRows = kLanes<T>* static_cast<Size>(sizeof(T)) == 64 ? 12 : 6;
/// The usual width of a register tile, in vectors.
inline constexpr int kTileVectors = 2;
/// The widest tile, used for one row.
inline constexpr int kMaxTileVectors = 8;

/// Where the elements of c start from.
enum class Start { kZero, kBias, kC };

/// One register tile's operands. Vector v of row p of b is at b[p·b_row + v·kLanes], the last one at
/// b[p·b_row + b_last].
template <class T>
struct TileStep {
  const T* a;
  Size a_row, a_col;
  const T* b;
  Size b_row, b_last;
  Size k;
  T* c;
  Size c_row;
  const T* bias;
  Start start;
};

/// c (M × V vectors) = start + a·b.
template <class T, int M, int V>
void register_tile(const TileStep<T>& operands) {
  const TileStep<T> step = operands;  // its own copy: stores to c could change the caller's
  constexpr Size kL = kLanes<T>;
  Batch<T> sum[M][V];
  if (step.start == Start::kZero) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[i][v] = Batch<T>(T(0));
    }
  } else {
    const T* from = step.start == Start::kBias ? step.bias : step.c;
    const Size row = step.start == Start::kBias ? 0 : step.c_row;
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[i][v] = load(from + i * row + v * kL);
    }
  }
  // Three rows share a pointer, as x86 can address p, p + r and p + 2r: twelve rows would not leave registers
  // for more.
  constexpr int kPointers = (M + 2) / 3;
  const T* a[kPointers];
#pragma GCC unroll 4
  for (int i = 0; i < kPointers; ++i) a[i] = step.a + 3 * i * step.a_row;
  const T* b = step.b;
  const Size a_row = step.a_row, a_col = step.a_col, b_row = step.b_row, b_last = step.b_last;
  for (Size p = step.k; p > 0; --p) {
    Batch<T> row[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) row[v] = load(b + (v == V - 1 ? b_last : v * kL));
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const Batch<T> factor(a[i / 3][i % 3 * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[i][v] = fma(factor, row[v], sum[i][v]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kPointers; ++i) a[i] += a_col;
    b += b_row;
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(step.c + i * step.c_row + v * kL, sum[i][v]);
  }
}

/// The tile function for M rows and V vectors; null for shapes that need too many registers.
template <class T>
class TileTable {
 public:
  using Function = void (*)(const TileStep<T>&);
  static Function at(Size rows, Size vectors) {
    return kFunctions[static_cast<std::size_t>(rows)][static_cast<std::size_t>(vectors)];
  }
  /// The widest tile for so many rows.
  static constexpr Size widest(Size rows) { return rows == 1 ? 8 : rows <= 3 ? 4 : kTileVectors; }

 private:
  using Row = std::array<Function, kMaxTileVectors + 1>;
  template <int M, int V>
  static constexpr Function pick() {
    if constexpr (M > 0 && V > 0 && V <= widest(M)) {
      return &register_tile<T, M, V>;
    } else {
      return nullptr;
    }
  }
  template <int M, int... V>
  static constexpr Row row(std::integer_sequence<int, V...>) {
    return {pick<M, V>()...};
  }
  template <int... M>
  static constexpr std::array<Row, sizeof...(M)> all(std::integer_sequence<int, M...>) {
    return {row<M>(std::make_integer_sequence<int, kMaxTileVectors + 1>{})...};
  }
  static constexpr auto kFunctions = all(std::make_integer_sequence<int, kTileRows<T> + 1>{});
};

/// How many rows the next tile takes of `rows`: full tiles, and the last two share what is left so that
/// neither is too thin to keep the multipliers busy.
template <class T>
constexpr Size next_tile_rows(Size rows) {
  constexpr Size kFull = kTileRows<T>;
  if (rows <= kFull) return rows;
  return rows >= kFull + kFull / 2 ? kFull : (rows + 1) / 2;
}

/// One dot tile's operands: row i of a at a + i·a_row and row j of b at b + j·b_row, contiguous in k.
template <class T>
struct DotStep {
  const T* a;
  Size a_row;
  const T* b;
  Size b_row;
  Size k;
  T* c;
  Size c_row, c_col;
  const T* bias;
  Size bias_row, bias_col;
  Start start;
};

/// c (M × N) = start + a·bᵀ.
template <class T, int M, int N>
void dot_tile(const DotStep<T>& step) {
  constexpr Size kL = kLanes<T>;
  Batch<T> sum[M][N];
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) sum[i][j] = Batch<T>(T(0));
  }
  const auto add = [&](const auto& load_at) {
    Batch<T> a[M];
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) a[i] = load_at(step.a + i * step.a_row);
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      const Batch<T> b = load_at(step.b + j * step.b_row);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) sum[i][j] = fma(a[i], b, sum[i][j]);
    }
  };
  Size p = 0;
  for (; p + kL <= step.k; p += kL) add([p](const T* row) { return load(row + p); });
  if (p < step.k) add([p, &step](const T* row) { return load_n(row + p, step.k - p); });
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      T* c = step.c + i * step.c_row + j * step.c_col;
      T value = reduce_add(sum[i][j]);
      if (step.start == Start::kC) value += *c;
      if (step.start == Start::kBias) value += step.bias[i * step.bias_row + j * step.bias_col];
      *c = value;
    }
  }
}

inline constexpr Size kDotRows = 3, kDotColumns = 4, kDotColumnsOfOne = 8;

/// c (rows × columns) = start + a·bᵀ with rows ≤ kDotRows, in dot tiles along the columns.
template <class T, int M = 1>
void dot_strip(DotStep<T> step, Size rows, Size columns) {
  if constexpr (M <= kDotRows) {
    if (rows > M) return dot_strip<T, M + 1>(step, rows, columns);
    const auto run = [&](auto width, Size count) {
      for (; columns >= count; columns -= count) {
        dot_tile<T, M, decltype(width)::value>(step);
        step.b += count * step.b_row;
        step.c += count * step.c_col;
        if (step.bias != nullptr) step.bias += count * step.bias_col;
      }
    };
    if constexpr (M == 1) run(std::integral_constant<int, kDotColumnsOfOne>{}, kDotColumnsOfOne);
    run(std::integral_constant<int, kDotColumns>{}, kDotColumns);
    run(std::integral_constant<int, 1>{}, 1);
  }
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
