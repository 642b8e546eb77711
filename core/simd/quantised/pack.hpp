// Interleaves the blocks of a few rows of W, one row per lane, so that one instruction works on all of them.
//
//     rows of W, a block of 32 bytes each        packed words of the block, kLanes words each
//     row 0   a₀ a₁ a₂ … a₇                      word 0:  a₀ b₀ c₀ d₀ …
//     row 1   b₀ b₁ b₂ … b₇     (4 bytes)   →    word 1:  a₁ b₁ c₁ d₁ …
//     …                                          …        word 7:  a₇ b₇ c₇ d₇ …
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/simd/lanes.hpp"
#include "core/simd/matmul/blocks.hpp"
#include "core/simd/quantised/byte_sums.hpp"
#include "core/simd/quantised/quantised.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Layout of a block: d is at byte 0, the integers q are at kQuants, and m, if kStored, at byte 2.
struct Q8_0 {
  static constexpr Size kBytes = 34, kQuants = 2;
  static constexpr bool kSigned = true;  ///< q are 32 signed bytes, otherwise 32 nibbles
  static constexpr bool kOffset = false, kStored = false;
};
/// w = d·(q − 8) is w = d·q + m with m = −8·d.
struct Q4_0 {
  static constexpr Size kBytes = 18, kQuants = 2;
  static constexpr bool kSigned = false, kOffset = true, kStored = false;
};
struct Q4_1 {
  static constexpr Size kBytes = 20, kQuants = 4;
  static constexpr bool kSigned = false, kOffset = true, kStored = true;
};

/// Number of rows of W that are interleaved.
inline constexpr Size kPackedRows = kLanes<std::int32_t>;
/// Number of 32-bit words of a block of bytes.
inline constexpr Size kBlockWords = kBlock / 4;

/// Memory for `blocks` packed blocks of kPackedRows rows.
class PackedWeights {
 public:
  explicit PackedWeights(Size blocks)
      : words_(blocks * kBlockWords * kPackedRows),
        scales_(blocks * kPackedRows),
        offsets_(blocks * kPackedRows) {}
  /// Returns word `index` of a block, of all rows. scales() and offsets() return d and m of all rows.
  std::int32_t* words(Size block, Size index) const {
    return words_.data() + (block * kBlockWords + index) * kPackedRows;
  }
  float* scales(Size block) const { return scales_.data() + block * kPackedRows; }
  float* offsets(Size block) const { return offsets_.data() + block * kPackedRows; }

 private:
  Scratch<std::int32_t> words_;
  Scratch<float> scales_, offsets_;
};

namespace internal {

/// Four 32-bit words, the part of a register that every processor has.
typedef std::int32_t FourWords __attribute__((vector_size(16)));

inline FourWords load_four(const std::uint8_t* from) {
  FourWords words;
  std::memcpy(&words, from, sizeof words);
  return words;
}
inline void store_four(std::int32_t* to, FourWords words) { std::memcpy(to, &words, sizeof words); }

/// Transposes four rows of four words.
inline void transpose(FourWords (&r)[4]) {
  const FourWords low01 = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);  // a₀ b₀ a₁ b₁
  const FourWords low23 = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);  // c₀ d₀ c₁ d₁
  const FourWords high01 = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const FourWords high23 = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);  // a₀ b₀ c₀ d₀
  r[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

/// Copies the 16 bits of an F16 into the memory of its f32; halves_to_floats() converts them later. A conversion here
/// would read a register right after its lanes were written one by one, which stalls.
inline void copy_half(float* to, const std::uint8_t* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  *to = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
/// Converts F16 in the lower 16 bits of each lane to f32, as half_to_float() in core/quantised does.
inline Lanes<float> halves_to_floats(Words half) {
  const Words rest = half & Words(0x7fff), sign = (half & Words(0x8000)) << 16;
  const Lanes<float> magnitude = from_bits<float>(rest << 13) * Lanes<float>(0x1p112f);
  const Words special = select(Words(0x7bff) < rest, Words(0x7f800000), Words(0));  // infinity or NaN
  return from_bits<float>(to_bits(magnitude) | special | sign);
}

}  // namespace internal

/// Packs `blocks` blocks of `rows` rows (1 to kPackedRows) at `from`, `row_bytes` apart. The lanes of missing rows
/// repeat the last row.
template <class Format>
void pack_weights(const PackedWeights& to, const std::uint8_t* from, Size row_bytes, Size rows, Size blocks) {
  using namespace internal;
  const std::uint8_t* row[kPackedRows];
  for (Size i = 0; i < kPackedRows; ++i) row[i] = from + std::min(i, rows - 1) * row_bytes;
  for (Size block = 0; block < blocks; ++block) {
    const Size at = block * Format::kBytes;
    for (Size i = 0; i < kPackedRows; ++i) {
      copy_half(to.scales(block) + i, row[i] + at);
      if constexpr (Format::kStored) copy_half(to.offsets(block) + i, row[i] + at + 2);
    }
    for (Size i = 0; i < kPackedRows; i += 4) {
      constexpr Size kHalves = Format::kSigned ? 2 : 1;  // 32 bytes of q, or 16
      for (Size half = 0; half < kHalves; ++half) {
        FourWords words[4];
        for (Size r = 0; r < 4; ++r) words[r] = load_four(row[i + r] + at + Format::kQuants + 16 * half);
        transpose(words);
        for (Size w = 0; w < 4; ++w) {
          if constexpr (Format::kSigned) {
            store_four(to.words(block, 4 * half + w) + i, words[w]);
          } else {  // elements 0 to 15 are the low nibbles, 16 to 31 the high ones
            store_four(to.words(block, w) + i, words[w] & 0x0f0f0f0f);
            store_four(to.words(block, 4 + w) + i, (words[w] >> 4) & 0x0f0f0f0f);
          }
        }
      }
    }
  }
  const auto convert = [](float* at) {
    const Lanes<float> value = halves_to_floats(to_bits(load(static_cast<const float*>(at))));
    store(at, value);
    return value;
  };
  for (Size block = 0; block < blocks; ++block) {
    const Lanes<float> scale = convert(to.scales(block));
    if constexpr (Format::kStored)
      convert(to.offsets(block));
    else if constexpr (Format::kOffset)
      store(to.offsets(block), scale * Lanes<float>(-8.0f));
  }
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
