// Inner loop of the matmul: the register tile of all products except those of the dot path (dot.hpp).
//
//        b  ┌────┬────┐    The register tile keeps M × V vectors of c in registers and, for each p < k, adds
//           └────┴────┘    (column p of a) × (row p of b): V loads and M broadcasts for M·V multiply-adds.
//     a ┌─┐ ┌────┬────┐
//       │ │ │    │    │    6 × 2 fills the 16 registers of AVX2, and 12 × 2 most of AVX-512's 32. There is a tile
//     M │ │ │  c │    │    for every smaller M, so that leftover rows cost no more than their share. Thin tiles
//       │ │ │    │    │    are wide instead: 1 × 8, 2 × 4, 3 × 4.
//       └─┘ └────┴────┘
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "core/simd/lanes.hpp"
#include "core/simd/runtime/arch.hpp"
#include "core/simd/runtime/memory.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// kTileRows and kTileVectors: size of a full register tile. kMaxTileVectors: width of a tile of one row. kThinRows:
/// largest number of rows of a tile that is four vectors wide.
#if defined(__wasm__)
// Engines compile for 16 registers, reserve one, and need one more for each product, as nothing is fused.
template <class T>
inline constexpr int kTileRows = 3;
inline constexpr int kTileVectors = 3, kMaxTileVectors = 6, kThinRows = 2;
#else
// 12 rows with the 32 registers of AVX-512; 10 with the 32 of ARM, where GCC 12 loads factors ahead and spills at 11;
// 6 with 16 registers.
template <class T>
#if defined(__aarch64__)
inline constexpr int kTileRows = 10;
#else
inline constexpr int kTileRows = kLanes<T>* static_cast<Size>(sizeof(T)) == 64 ? 12 : 6;
#endif
inline constexpr int kTileVectors = 2, kMaxTileVectors = 8, kThinRows = 3;
#endif

/// Zeros: the initial values of a tile that adds its product to nothing.
template <class T>
alignas(
    kBlockAlignment) inline constexpr T kZeros[static_cast<std::size_t>(kMaxTileVectors * kLanes<T>)] = {};

/// Operands of one register tile. Vector v of row p of b is at b[p·b_row + v·kLanes], the last one at
/// b[p·b_row + b_last]. Row i of c starts from `start` + i·start_row: c itself, a bias, or kZeros.
template <class T>
struct TileStep {
  const T* a;
  Size a_row, a_col;
  const T* b;
  Size b_row, b_last;
  Size k;
  const T* start;
  Size start_row;
  T* c;
  Size c_row;
};

/// c (M × V vectors) = start + a·b.
template <class T, int M, int V>
void register_tile(const TileStep<T>& operands) {
  const TileStep<T> step = operands;  // a local copy, which stores to c cannot change
  constexpr Size kL = kLanes<T>;
  Lanes<T> sum[M][V];
  const T* from = step.start;
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i, from += step.start_row) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[i][v] = load(from + v * kL);
  }
  // Three rows share a pointer, since x86 can address p, p + r and p + 2r. Twelve rows leave no registers for more
  // pointers.
  constexpr int kPointers = (M + 2) / 3;
  const T* a[kPointers];
#pragma GCC unroll 4
  for (int i = 0; i < kPointers; ++i) a[i] = step.a + 3 * i * step.a_row;
  const T* b = step.b;
  const Size a_row = step.a_row, a_col = step.a_col, b_row = step.b_row, b_last = step.b_last;
  const auto row = [&](int v) { return load(b + (v == V - 1 ? b_last : v * kL)); };
  const auto factor = [&](int i) { return Lanes<T>(a[i / 3][i % 3 * a_row]); };
  for (Size p = step.k; p > 0; --p) {
    // The values used most often are loaded first and stay in registers: V vectors of b, or, in a wide tile, M factors.
    if constexpr (V <= M) {
      Lanes<T> rows[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) keep_in_register(rows[v] = row(v));
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        const Lanes<T> one = factor(i);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[i][v] = fma(one, rows[v], sum[i][v]);
      }
    } else {
      Lanes<T> factors[M];
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) factors[i] = factor(i);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        Lanes<T> one = row(v);
        if constexpr (M > 1) keep_in_register(one);
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i) sum[i][v] = fma(factors[i], one, sum[i][v]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kPointers; ++i) a[i] += a_col;
    b += b_row;
  }
  T* to = step.c;
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i, to += step.c_row) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(to + v * kL, sum[i][v]);
  }
}

/// Table of the tile functions for M rows and V vectors; null for shapes that need too many registers.
template <class T>
class TileTable {
 public:
  using Function = void (*)(const TileStep<T>&);
  static Function at(Size rows, Size vectors) {
    return kFunctions[static_cast<std::size_t>(rows)][static_cast<std::size_t>(vectors)];
  }
  /// Width in vectors of the widest tile with `rows` rows.
  static constexpr Size widest(Size rows) {
    return rows == 1 ? kMaxTileVectors : rows <= kThinRows ? 4 : kTileVectors;
  }

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

/// Returns the height of the next tile when `rows` rows are left. Tiles are full, except that the last two share the
/// rest, so that neither is too thin to keep the multipliers busy.
template <class T>
constexpr Size next_tile_rows(Size rows) {
  constexpr Size kFull = kTileRows<T>;
  if (rows <= kFull) return rows;
  return rows >= kFull + kFull / 2 ? kFull : (rows + 1) / 2;
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
