// The quantised product of one row of x, for AVX2 and AVX-512. The time is that of reading W once, so W is not packed:
// eight rows of W are multiplied in place, and their sums are moved into the lanes of one register.
//
//     nibbles of rows 0 and 4     b₀ … b₁₅ | b₀ … b₁₅       16 bytes of each row; likewise 1 and 5, 2 and 6, 3 and 7
//     low·p₀…₁₅ + high·p₁₆…₃₁    8 sums    | 8 sums        in 16 bits: at most 4 · 15 · 127 = 7,620
//     added to neighbours, of four such registers            row 0  1  2  3 | 4  5  6  7
//
// Each y has the bits that quantised_tile() computes: the integers are exact, and the floats are added in its order.
#pragma once

#include "core/simd/quantised/activations.hpp"
#include "core/simd/quantised/pack.hpp"

#if !defined(TAPESTRY_PORTABLE_BYTE_SUMS) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define TAPESTRY_ONE_ROW 1

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace internal {

/// Rows of W that are multiplied together.
inline constexpr Size kTogether = 8;

inline __m128i load_16(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline __m256i load_32(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

/// Returns the 32 bits at `offset` of each row.
inline __m256i words_at(const std::uint8_t* const (&row)[kTogether], Size offset) {
  std::int32_t word[kTogether];
  for (Size i = 0; i < kTogether; ++i) std::memcpy(&word[i], row[i] + offset, sizeof word[i]);
  return _mm256_set_epi32(word[7], word[6], word[5], word[4], word[3], word[2], word[1], word[0]);
}
/// Converts the F16 in the lower 16 bits of each lane.
inline __m256 lower_halves(__m256i words) {
  const __m256i low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
  return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

/// Returns Σ q·p of one block of each row, where q are nibbles at `offset`.
inline __m256i nibble_sums(const std::uint8_t* const (&row)[kTogether], Size offset,
                           const ActivationBlock& x) {
  const __m256i mask = _mm256_set1_epi8(15);
  const __m256i first = _mm256_broadcastsi128_si256(load_16(x.p)),
                second = _mm256_broadcastsi128_si256(load_16(x.p + 16));
  const auto pair = [&](int i) {  // rows i and i + 4
    const __m256i q = _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(row[i] + offset)),
                                              load_16(row[i + 4] + offset), 1);
    const __m256i low = _mm256_and_si256(q, mask), high = _mm256_and_si256(_mm256_srli_epi16(q, 4), mask);
    return _mm256_add_epi16(_mm256_maddubs_epi16(low, first), _mm256_maddubs_epi16(high, second));
  };
  // A block's sum is at most 30,480, so that neighbours can be added in 16 bits.
  const __m256i ones = _mm256_set1_epi16(1);
  return _mm256_hadd_epi32(_mm256_madd_epi16(_mm256_hadd_epi16(pair(0), pair(1)), ones),
                           _mm256_madd_epi16(_mm256_hadd_epi16(pair(2), pair(3)), ones));
}

/// Returns Σ q·p of one block of each row, where q are signed bytes at `offset`.
inline __m256i byte_sums(const std::uint8_t* const (&row)[kTogether], Size offset, const ActivationBlock& x) {
  const __m256i p = load_32(x.p), ones = _mm256_set1_epi16(1);
  const auto one = [&](int i) {
    const __m256i q = load_32(row[i] + offset);
    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(p, q)), ones);
  };
  const auto four = [&](int i) {  // rows i … i + 3, each in both halves
    return _mm256_hadd_epi32(_mm256_hadd_epi32(one(i), one(i + 1)),
                             _mm256_hadd_epi32(one(i + 2), one(i + 3)));
  };
  const __m256i low = four(0), high = four(4);
  return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                          _mm256_permute2x128_si256(low, high, 0x31));
}

/// Returns eight rows · x, over `blocks` blocks. Also prefetches the rows that follow, since processors do not
/// recognise eight streams as one.
template <class Format>
__m256 multiply_rows(const std::uint8_t* const (&start)[kTogether], const ActivationBlock* x, Size blocks) {
  const std::uint8_t* row[kTogether];
  std::copy_n(start, kTogether, row);
  __m256 result = _mm256_setzero_ps();
  for (Size block = 0; block < blocks; ++block) {
    const ActivationBlock& a = x[block];
    const std::uint8_t* ahead = start[0] + (blocks + block) * kTogether * Format::kBytes;
    for (Size line = 0; line < kTogether * Format::kBytes; line += 64)
      _mm_prefetch(reinterpret_cast<const char*>(ahead + line), _MM_HINT_T0);
    const __m256i stored = words_at(row, 0);  // d, and in the upper 16 bits m or the first q
    const __m256 d = lower_halves(stored);
    const __m256i sums =
        Format::kSigned ? byte_sums(row, Format::kQuants, a) : nibble_sums(row, Format::kQuants, a);
    result = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), _mm256_mul_ps(d, _mm256_set1_ps(a.scale)), result);
    if constexpr (Format::kOffset) {
      const __m256 m = Format::kStored ? lower_halves(_mm256_srli_epi32(stored, 16))
                                       : _mm256_mul_ps(d, _mm256_set1_ps(-8.0f));
      result = _mm256_fmadd_ps(m, _mm256_set1_ps(a.scaled_sum), result);
    }
    for (const std::uint8_t*& at : row) at += Format::kBytes;
  }
  return result;
}

}  // namespace internal

/// y (n) = W (n, 32·blocks) · x for the rows [begin, end).
template <class Format>
void quantised_one_row(const std::uint8_t* weights, Size begin, Size end, const ActivationBlock* x,
                       Size blocks, float* y) {
  using namespace internal;
  for (Size first = begin; first < end; first += kTogether) {
    const std::uint8_t* row[kTogether];  // rows beyond the end repeat the last one
    for (Size i = 0; i < kTogether; ++i)
      row[i] = weights + std::min(first + i, end - 1) * blocks * Format::kBytes;
    float sums[kTogether];
    _mm256_storeu_ps(sums, multiply_rows<Format>(row, x, blocks));
    std::copy_n(sums, std::min(kTogether, end - first), y + first);
  }
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG

#endif
