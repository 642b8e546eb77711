// The quantised product, as a template of the class of byte sums: quantised.cpp uses this build's, a test the
// portable one.
//
// A tile is kPackedRows rows of W times up to four rows of x. The rows of W are packed once, into the L1 cache, and
// then used for all rows of x. With one row, reading W takes most of the time; with many, multiplying does.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/simd/horizontal.hpp"
#include "core/simd/quantised/activations.hpp"
#include "core/simd/quantised/byte_sums.hpp"
#include "core/simd/quantised/one_row.hpp"
#include "core/simd/quantised/pack.hpp"
#include "core/simd/runtime/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace internal {

inline Lanes<float> to_float(Words a) {
  using Ints = RawVector<std::int32_t>::Type;
  using Floats = RawVector<float>::Type;
  return Lanes<float>(
      std::bit_cast<registers::batch<float>>(__builtin_convertvector(std::bit_cast<Ints>(a.native), Floats)));
}
/// Returns the four activations at p, repeated in every lane.
inline Words repeat_four(const std::int8_t* p) {
  std::int32_t word;
  std::memcpy(&word, p, sizeof word);
  return Words(word);
}

}  // namespace internal

/// y (M rows, `columns`) of one tile, over `blocks` packed blocks. Starts from 0, or with `add` from the values of y.
template <class Format, template <bool> class Sums, int M>
void quantised_tile(const PackedWeights& weights, Size blocks, const ActivationBlock* x, Size x_row, float* y,
                    Size y_row, Size columns, bool add) {
  Lanes<float> result[M];
  for (int i = 0; i < M; ++i)
    result[i] = add ? load_n(static_cast<const float*>(y + i * y_row), columns) : Lanes<float>(0.0f);
  for (Size block = 0; block < blocks; ++block) {
    const auto sums = [&]<std::size_t... kRow>(std::index_sequence<kRow...>) {
      Sums<Format::kSigned> sum[M] = {
          Sums<Format::kSigned>(x[static_cast<Size>(kRow) * x_row + block].sum)...};
#pragma GCC unroll 8
      for (Size word = 0; word < kBlockWords; ++word) {
        Words w = load(static_cast<const std::int32_t*>(weights.words(block, word)));
        if constexpr (M > 1) keep_in_register(w);
        (...,
         sum[kRow].add(w, internal::repeat_four(x[static_cast<Size>(kRow) * x_row + block].p + 4 * word)));
      }
      return std::array<Lanes<float>, M>{internal::to_float(sum[kRow].total())...};
    }
    (std::make_index_sequence<M>{});
    const Lanes<float> d = load(static_cast<const float*>(weights.scales(block)));
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      const ActivationBlock& a = x[i * x_row + block];
      result[i] = fma(sums[static_cast<std::size_t>(i)], d * Lanes<float>(a.scale), result[i]);
      if constexpr (Format::kOffset)
        result[i] = fma(load(static_cast<const float*>(weights.offsets(block))), Lanes<float>(a.scaled_sum),
                        result[i]);
    }
  }
  for (int i = 0; i < M; ++i) store_n(y + i * y_row, result[i], columns);
}

/// All rows of x times one group of packed rows, in tiles of four rows.
template <class Format, template <bool> class Sums, int M = 4>
void quantised_rows(const PackedWeights& weights, Size blocks, const ActivationBlock* x, Size x_row, float* y,
                    Size y_row, Size rows, Size columns, bool add) {
  for (; rows >= M; rows -= M, x += M * x_row, y += M * y_row)
    quantised_tile<Format, Sums, M>(weights, blocks, x, x_row, y, y_row, columns, add);
  if constexpr (M > 1) {
    if (rows > 0)
      quantised_rows<Format, Sums, M - 1>(weights, blocks, x, x_row, y, y_row, rows, columns, add);
  }
}

/// Computes the product.
template <class Format, template <bool> class Sums>
void quantised_product(const QuantisedProduct& product) {
  const Size blocks = product.k / kBlock, row_bytes = blocks * Format::kBytes;
  const Scratch<ActivationBlock> x(product.m * blocks);
  parallel_ranges(
      product.m, std::max<Size>(1, 8192 / std::max<Size>(1, product.k)), [&](Size begin, Size end) {
        for (Size i = begin; i < end; ++i) {
          for (Size block = 0; block < blocks; ++block)
            round_block(product.x + i * product.x_row + block * kBlock, x.data()[i * blocks + block]);
        }
      });

#ifdef TAPESTRY_ONE_ROW
  // The portable sums keep the packed product, which a test compares with this one.
  if (product.m == 1 && std::is_same_v<Sums<true>, ByteSums<true>>) {
    constexpr Size kRows = internal::kTogether;
    const Size pieces = ceil_div(product.n, kRows);
    parallel_ranges(
        pieces, std::max<Size>(1, 16384 / std::max<Size>(1, row_bytes * kRows)), [&](Size begin, Size end) {
          quantised_one_row<Format>(product.weights, begin * kRows, std::min(end * kRows, product.n),
                                    x.data(), blocks, product.y);
        });
    return;
  }
#endif

  // A range has at least 16 KB of W, about a microsecond. Long rows are packed in pieces that fit into L1 or L2.
  constexpr Size kPiece = 64, kRangeBytes = 16384;
  const Size groups = ceil_div(product.n, kPackedRows);
  const Size grain = std::max<Size>(1, kRangeBytes / std::max<Size>(1, row_bytes * kPackedRows));
  parallel_ranges(groups, grain, [&](Size begin, Size end) {
    const PackedWeights packed(std::min(kPiece, blocks));
    for (Size group = begin; group < end; ++group) {
      const Size column = group * kPackedRows, columns = std::min(kPackedRows, product.n - column);
      Size first = 0;
      do {  // once for k = 0 as well, which gives zeros
        const Size count = std::min(kPiece, blocks - first);
        pack_weights<Format>(packed, product.weights + column * row_bytes + first * Format::kBytes, row_bytes,
                             columns, count);
        quantised_rows<Format, Sums>(packed, count, x.data() + first, blocks, product.y + column,
                                     product.y_row, product.m, columns, first > 0);
        first += count;
      } while (first < blocks);
    }
  });
}

/// Selects the function above for product.format.
template <template <bool> class Sums>
void quantised_product(const QuantisedProduct& product) {
  switch (product.format) {
    case WeightFormat::q8_0:
      return quantised_product<Q8_0, Sums>(product);
    case WeightFormat::q4_0:
      return quantised_product<Q4_0, Sums>(product);
    case WeightFormat::q4_1:
      return quantised_product<Q4_1, Sums>(product);
  }
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
