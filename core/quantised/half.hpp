// Conversions between float and the bits of two 16-bit types: F16 (IEEE half precision) and BF16 (bfloat16, the upper
// half of an f32).
#pragma once

#include <bit>
#include <cstdint>

namespace tapestry {

/// Returns the value of an F16 (sign, 5 bits of exponent, 10 bits of fraction), exactly: f32 can represent every F16.
inline float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00u)  // infinity or NaN; bit 22 makes a NaN quiet, as processors do
    return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13 |
                                (rest > 0x7c00u ? 0x400000u : 0u));
  // The fields are in f32's positions, but the exponent is too small by 127 − 15 = 112. Multiplying by 2^112
  // corrects it and also normalises subnormals.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

/// Returns the F16 nearest to x, ties to even. Magnitudes of 65,520 or more become infinity, as IEEE 754 requires.
/// Smaller ones above 65,504, the largest F16, round to 65,504. NaN stays NaN.
inline std::uint16_t float_to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  std::uint32_t rest = bits & 0x7fffffffu;
  const auto with_sign = [sign](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
  if (rest > 0x7f800000u) return with_sign(0x7e00u | (rest >> 13 & 0x3ffu));
  if (rest >= 0x477ff000u) return with_sign(0x7c00u);  // 65,520 and above
  if (rest < 0x38800000u) {
    // Below 2^-14, the result is a subnormal F16, a multiple of 2^-24. The last bit of a float from 0.5 to 1 is worth
    // 2^-24, too, so adding 0.5 rounds to such a multiple.
    const float sum = std::bit_cast<float>(rest) + 0.5f;
    return with_sign(std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f));
  }
  rest += 0xfffu + (rest >> 13 & 1u);  // rounds to nearest, ties to even, before the low 13 bits are cut off
  return with_sign((rest - 0x38000000u) >> 13);
}

/// Returns the value of a BF16.
inline float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Returns the BF16 nearest to x, ties to even. NaN stays NaN.
inline std::uint16_t float_to_bfloat(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace tapestry
