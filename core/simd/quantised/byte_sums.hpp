// Sums of byte products, the only part of the quantised product that differs between instruction sets.
//
// A register holds four bytes of weights in each 32-bit lane; four bytes of activations are repeated in every lane:
//
//     w     q₀ q₁ q₂ q₃ | q₀ q₁ q₂ q₃ | …       a lane for each row of W
//     x     p₀ p₁ p₂ p₃ | p₀ p₁ p₂ p₃ | …
//     sum   q₀p₀ + q₁p₁ + q₂p₂ + q₃p₃ | …       added to the lane's sum; eight times for a block of 32
//
// Activations are from −127 to 127. Weights are from 0 to 15, or from −128 to 127 (kSigned).
#pragma once

#include <bit>
#include <cstdint>

#include "core/simd/lanes.hpp"

#if defined(TAPESTRY_PORTABLE_SIMD) && defined(__x86_64__)
#define TAPESTRY_PORTABLE_BYTE_SUMS 1  // on request, to test what other processors execute
#elif defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#else
#define TAPESTRY_PORTABLE_BYTE_SUMS 1
#endif

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Register of 32-bit lanes, or of four bytes per lane.
using Words = Lanes<std::int32_t>;

/// Byte sums on 32-bit lanes alone, for every processor. A shift left and back right extends a byte's sign.
template <bool kSigned>
class PortableByteSums {
 public:
  /// Starts from 0. `x_sum` is the sum of the block's activations, which some instruction sets need for an offset.
  explicit PortableByteSums(std::int32_t /*x_sum*/) : sum_(0) {}
  /// Adds the products of four bytes in each lane.
  void add(Words w, Words x) {
    for (int shift = 24; shift >= 0; shift -= 8) sum_ += ((w << shift) >> 24) * ((x << shift) >> 24);
  }
  /// Returns the sums.
  Words total() const { return sum_; }

 private:
  Words sum_;
};

#ifdef TAPESTRY_PORTABLE_BYTE_SUMS
template <bool kSigned>
using ByteSums = PortableByteSums<kSigned>;
#else

namespace internal {

/// Converts a register to an intrinsic's type, and back.
template <class Register>
inline Register as(Words a) {
  return std::bit_cast<Register>(a.native);
}
template <class Register>
inline Words words(Register a) {
  return Words(std::bit_cast<Words::Native>(a));
}

}  // namespace internal

/// Byte sums in the instructions of this build. The members are those of PortableByteSums.
template <bool kSigned>
class ByteSums;

#if defined(__AVX512VNNI__) && defined(__AVX512BW__)

// VPDPBUSD multiplies unsigned by signed bytes and adds four products to a lane. Signed weights are moved to 0 … 255
// (q + 128 flips the upper bit), and 128·Σ p is subtracted at the start.
template <bool kSigned>
class ByteSums {
 public:
  explicit ByteSums(std::int32_t x_sum) : sum_(_mm512_set1_epi32(kSigned ? -128 * x_sum : 0)) {}
  void add(Words w, Words x) {
    if constexpr (kSigned) w = w ^ Words(static_cast<std::int32_t>(0x80808080u));
    sum_ = _mm512_dpbusd_epi32(sum_, internal::as<__m512i>(w), internal::as<__m512i>(x));
  }
  Words total() const { return internal::words(sum_); }

 private:
  __m512i sum_;
};

#elif defined(__AVX2__)

namespace internal {

#ifdef __AVX512BW__
using Bytes = __m512i;
inline Bytes set_16(short value) { return _mm512_set1_epi16(value); }
inline Bytes add_16(Bytes a, Bytes b) { return _mm512_add_epi16(a, b); }
inline Bytes add_32(Bytes a, Bytes b) { return _mm512_add_epi32(a, b); }
inline Bytes pairs_of_bytes(Bytes a, Bytes b) { return _mm512_maddubs_epi16(a, b); }
inline Bytes pairs_of_16(Bytes a, Bytes b) { return _mm512_madd_epi16(a, b); }
inline Bytes abs_8(Bytes a) { return _mm512_abs_epi8(a); }
inline Bytes sign_8(Bytes a, Bytes b) {
  return _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(b), _mm512_setzero_si512(), a);
}
#else
using Bytes = __m256i;
inline Bytes set_16(short value) { return _mm256_set1_epi16(value); }
inline Bytes add_16(Bytes a, Bytes b) { return _mm256_add_epi16(a, b); }
inline Bytes add_32(Bytes a, Bytes b) { return _mm256_add_epi32(a, b); }
inline Bytes pairs_of_bytes(Bytes a, Bytes b) { return _mm256_maddubs_epi16(a, b); }
inline Bytes pairs_of_16(Bytes a, Bytes b) { return _mm256_madd_epi16(a, b); }
inline Bytes abs_8(Bytes a) { return _mm256_abs_epi8(a); }
inline Bytes sign_8(Bytes a, Bytes b) { return _mm256_sign_epi8(a, b); }
#endif

}  // namespace internal

// VPMADDUBSW multiplies unsigned by signed bytes and adds pairs in 16 bits; VPMADDWD with ones adds pairs of these in
// 32 bits. For weights up to 15 a whole block fits in 16 bits: 8 · 2 · 15 · 127 = 30,480 ≤ 32,767, so the second
// instruction is needed once per block. Signed weights give |q| · (p with q's sign), at most 2 · 128 · 127 =
// 32,512 for a pair, and each pair is widened.
template <bool kSigned>
class ByteSums {
 public:
  explicit ByteSums(std::int32_t /*x_sum*/) : sum_(internal::set_16(0)) {}
  void add(Words w_words, Words x_words) {
    using namespace internal;
    const auto w = as<Bytes>(w_words), x = as<Bytes>(x_words);
    if constexpr (kSigned)
      sum_ = add_32(sum_, pairs_of_16(pairs_of_bytes(abs_8(w), sign_8(x, w)), set_16(1)));
    else
      sum_ = add_16(sum_, pairs_of_bytes(w, x));
  }
  Words total() const {
    using namespace internal;
    return words(kSigned ? sum_ : pairs_of_16(sum_, set_16(1)));
  }

 private:
  internal::Bytes sum_;
};

#elif defined(__ARM_NEON)

// SDOT adds four signed products to a lane. Processors before ARMv8.2 multiply to 16 bits and add neighbours twice: a
// pair is at most 2 · 128 · 127 = 32,512.
template <bool kSigned>
class ByteSums {
 public:
  explicit ByteSums(std::int32_t /*x_sum*/) : sum_(vdupq_n_s32(0)) {}
  void add(Words w_words, Words x_words) {
    const auto w = internal::as<int8x16_t>(w_words), x = internal::as<int8x16_t>(x_words);
#ifdef __ARM_FEATURE_DOTPROD
    sum_ = vdotq_s32(sum_, w, x);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x)), high = vmull_high_s8(w, x);
    sum_ = vpadalq_s16(sum_, vpaddq_s16(low, high));
#endif
  }
  Words total() const { return internal::words(sum_); }

 private:
  int32x4_t sum_;
};

#else  // WebAssembly

// Products of 16 bits are added in pairs, into lanes that hold the sums of bytes 0 and 1 or of bytes 2 and 3.
// low_ has those of the first two rows of W, high_ those of the last two.
template <bool kSigned>
class ByteSums {
 public:
  explicit ByteSums(std::int32_t /*x_sum*/) : low_(wasm_i32x4_splat(0)), high_(wasm_i32x4_splat(0)) {}
  void add(Words w_words, Words x_words) {
    const auto w = internal::as<v128_t>(w_words), x = internal::as<v128_t>(x_words);
    low_ = wasm_i32x4_add(low_, wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extmul_low_i8x16(w, x)));
    high_ = wasm_i32x4_add(high_, wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extmul_high_i8x16(w, x)));
  }
  Words total() const {
    return internal::words(wasm_i32x4_add(wasm_i32x4_shuffle(low_, high_, 0, 2, 4, 6),
                                          wasm_i32x4_shuffle(low_, high_, 1, 3, 5, 7)));
  }

 private:
  v128_t low_, high_;
};

#endif
#endif  // TAPESTRY_PORTABLE_BYTE_SUMS

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
