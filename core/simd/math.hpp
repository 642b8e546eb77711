// exp, log, tanh, sigmoid and related functions on lanes of float and double.
//
// Largest errors, measured by tests/core/simd/math_test.cpp with AVX2 + FMA, in units in the last place (float;
// double): exp, log 1; 1. log1p 1.2; 1.1. tanh 4.4 (4.9 without FMA); 2.3. sigmoid 2; 1.8. softplus 1.8; 1.8.
// sin, cos (the backend's, near 0 and far from it) 1.5; 1.5. Infinities, NaN, signed zeros and denormals give the
// mathematically correct results, unless a function's comment says otherwise.
//
// exp splits x = n·ln 2 + r, |r| ≤ ln 2 / 2 (Cody and Waite's two-part ln 2), evaluates a polynomial for e^r − 1 and
// scales by 2^n. Near the ends of the range it scales in two steps, so that denormal results round once. Adding
// 1.5·2^(mantissa bits) rounds n, and leaves it as an integer in the low bits of the sum. The float polynomial and the
// rational tanh are minimax fits made for this file.
#pragma once

#include <cmath>
#include <limits>

#include "core/simd/lanes.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace internal {

template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  static constexpr float kRound = 12582912.0f;  // 1.5·2^23
  static constexpr float kLn2High = 0.693359375f;
  static constexpr float kLn2Low = -2.12194440e-4f;
  static constexpr float kLow = -104.0f, kHigh = 89.0f;  // e^kLow rounds to 0, e^kHigh to infinity
  static constexpr float kNormalLow = -87.3f;            // e^kNormalLow is about the smallest normal number
  static constexpr int kMantissaBits = 23;
  // (e^r − 1 − r) / r², highest power first; error below 0.06 ulp of e^r.
  static constexpr float kSeries[] = {1.3814539879e-3f, 8.3687451271e-3f, 4.1668390790e-2f, 1.6666520399e-1f,
                                      4.9999993432e-1f};
};

template <>
struct ExpConstants<double> {
  static constexpr double kRound = 6755399441055744.0;  // 1.5·2^52
  static constexpr double kLn2High = 0.69314718036912381649;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kLow = -746.0, kHigh = 710.0;
  static constexpr double kNormalLow = -708.3;
  static constexpr int kMantissaBits = 52;
  // The Taylor series up to r^13 / 13!.
  static constexpr double kSeries[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                       1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                       1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};
};

/// Evaluates the polynomial Σ c[i]·x^(N−1−i) by Horner's rule.
template <class T, std::size_t N>
inline Lanes<T> horner(Lanes<T> x, const T (&c)[N]) {
  Lanes<T> sum(c[0]);
  for (std::size_t i = 1; i < N; ++i) sum = fma(sum, x, Lanes<T>(c[i]));
  return sum;
}

/// x = n·ln 2 + r: `rounded` is n + kRound, `part` is e^r − 1.
template <class T>
struct ExpParts {
  Lanes<T> rounded, n, part;
};
template <class T>
inline ExpParts<T> exp_parts(Lanes<T> x) {
  using C = ExpConstants<T>;
  const Lanes<T> rounded = fma(x, Lanes<T>(T(1.4426950408889634)), C::kRound);
  const Lanes<T> n = rounded - C::kRound;
  Lanes<T> r = fma(n, Lanes<T>(-C::kLn2High), x);
  r = fma(n, Lanes<T>(-C::kLn2Low), r);
  return {rounded, n, fma(r * r, horner(r, C::kSeries), r)};
}
/// 2^n from n + kRound.
template <class T>
inline Lanes<T> power_of_two(Lanes<T> rounded) {
  return from_bits<T>((to_bits(rounded) << ExpConstants<T>::kMantissaBits) + to_bits(Lanes<T>(T(1))));
}

}  // namespace internal

/// e^x. If all lanes are far from the ends of the range and not NaN, n is added to the exponent of e^r directly, which
/// gives the same bits as scaling in two steps.
template <class T>
inline Lanes<T> exp(Lanes<T> x) {
  using C = internal::ExpConstants<T>;
  if (all(abs(x) <= Lanes<T>(-C::kNormalLow))) {
    const auto parts = internal::exp_parts(x);
    return from_bits<T>((to_bits(parts.rounded) << C::kMantissaBits) + to_bits(parts.part + T(1)));
  }
  const auto parts = internal::exp_parts(min(Lanes<T>(C::kHigh), max(Lanes<T>(C::kLow), x)));
  const Lanes<T> rounded_half = fma(parts.n, Lanes<T>(T(0.5)), C::kRound);
  const Lanes<T> rounded_rest = parts.n - (rounded_half - C::kRound) + C::kRound;
  return (parts.part + T(1)) * internal::power_of_two(rounded_half) * internal::power_of_two(rounded_rest);
}

/// e^x for x ≤ 0 (correct up to 88), a little faster than exp. Results below the normal numbers (x < −87.7; double:
/// −708.7) are exactly 0.
template <class T>
inline Lanes<T> exp_nonpositive(Lanes<T> x) {
  const auto parts = internal::exp_parts(max(Lanes<T>(2 * internal::ExpConstants<T>::kNormalLow), x));
  // If 2^n is below the normal numbers, the shift sets the sign bit, and max() gives 0.
  const Lanes<T> scale = max(Lanes<T>(T(0)), internal::power_of_two(parts.rounded));
  return fma(parts.part, scale, scale);
}

namespace internal {

template <class T>
struct LogConstants;

template <>
struct LogConstants<float> {
  using Bits = std::uint32_t;
  static constexpr Bits kHalfStep = 0x004afb0d;  // the bits of 1 minus those of √½
  static constexpr float kSmallest = 1.17549435e-38f, kScaleUp = 33554432.0f, kScaleDown = 25.0f;  // 2^25
  static constexpr float kInteger = 8388608.0f;                                                    // 2^23
  static constexpr float kBias = 127.0f;
  static constexpr float kSeries[] = {2.0f / 11, 2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3};
};

template <>
struct LogConstants<double> {
  using Bits = std::uint64_t;
  static constexpr Bits kHalfStep = 0x00095f619980c433;
  static constexpr double kSmallest = 2.2250738585072014e-308, kScaleUp = 18014398509481984.0;  // 2^54
  static constexpr double kScaleDown = 54.0, kInteger = 4503599627370496.0;                     // 2^52
  static constexpr double kBias = 1023.0;
  static constexpr double kSeries[] = {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                                       2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};
};

}  // namespace internal

/// ln x; −∞ at ±0, NaN below 0. With x = 2^k·m, m in [√½, √2), and s = (m − 1)/(m + 1): ln m = 2·artanh s.
template <class T>
inline Lanes<T> log(Lanes<T> x) {
  using C = internal::LogConstants<T>;
  using E = internal::ExpConstants<T>;
  using Bits = Lanes<typename C::Bits>;
  const LanesBool<T> small = x < Lanes<T>(C::kSmallest);
  const Lanes<T> normal = select(small, x * C::kScaleUp, x);
  const Bits bits(std::bit_cast<typename Bits::Native>(normal.native));
  const Bits biased = (bits + Bits(C::kHalfStep)) >> E::kMantissaBits;
  const Bits one(std::bit_cast<typename Bits::Native>(Lanes<T>(T(1)).native));
  const Lanes<T> m(
      std::bit_cast<typename Lanes<T>::Native>(((bits + one) - (biased << E::kMantissaBits)).native));
  // Converts the exponent to T: its bits become the mantissa of 2^(mantissa bits).
  const Bits integer(std::bit_cast<typename Bits::Native>(Lanes<T>(C::kInteger).native));
  const Lanes<T> raised(std::bit_cast<typename Lanes<T>::Native>((biased | integer).native));
  const Lanes<T> k = raised - C::kInteger - select(small, C::kBias + C::kScaleDown, C::kBias);

  const Lanes<T> f = m - T(1);
  const Lanes<T> s = f / (f + T(2));
  const Lanes<T> z = s * s;
  const Lanes<T> half_square = T(0.5) * f * f;
  const Lanes<T> series = z * internal::horner(z, C::kSeries);
  // f − f²/2 + s(f²/2 + series), the small parts first.
  const Lanes<T> low = fma(k, Lanes<T>(E::kLn2Low), s * (half_square + series));
  const Lanes<T> y = fma(k, Lanes<T>(E::kLn2High), f - (half_square - low));

  const T inf = std::numeric_limits<T>::infinity();
  const Lanes<T> special = select(x == Lanes<T>(T(0)), -inf, select(x < Lanes<T>(T(0)), inf - inf, x));
  return select((x > Lanes<T>(T(0))) & (x < Lanes<T>(inf)), y, special);
}

/// ln(1 + x), accurate near 0: the rounding error of 1 + x is corrected to first order.
template <class T>
inline Lanes<T> log1p(Lanes<T> x) {
  const Lanes<T> sum = x + T(1);
  const Lanes<T> y = log(sum);
  const Lanes<T> corrected = y + (x - (sum - T(1))) / sum;
  return select(abs(y) == Lanes<T>(std::numeric_limits<T>::infinity()), y, corrected);
}

/// tanh x. The float form is x·P(x²)/Q(x²), clamped where it reaches ±1; the double form is
/// (e^2|x| − 1)/(e^2|x| + 1).
template <class T>
inline Lanes<T> tanh(Lanes<T> x) {
  if constexpr (sizeof(T) == 4) {
    constexpr T kEnd = T(9.03);
    static constexpr T kP[] = {T(1.3300875554e-8), T(2.0570365475e-5), T(3.4932379696e-3), T(1.3379047345e-1),
                               T(1)};
    static constexpr T kQ[] = {T(7.7545773732e-7), T(3.2817898213e-4), T(2.5868043055e-2), T(4.6712362421e-1),
                               T(1)};
    x = min(Lanes<T>(kEnd), max(Lanes<T>(-kEnd), x));
    const Lanes<T> z = x * x;
    const Lanes<T> y = x * internal::horner(z, kP) / internal::horner(z, kQ);
    return min(Lanes<T>(T(1)), max(Lanes<T>(T(-1)), y));
  } else {
    const auto parts = internal::exp_parts(T(2) * min(Lanes<T>(T(20)), abs(x)));
    const Lanes<T> scale = internal::power_of_two(parts.rounded);
    const Lanes<T> grown = fma(scale, parts.part, scale - T(1));  // e^2|x| − 1
    return copysign(grown / (grown + T(2)), x);
  }
}

/// 1 / (1 + e^−x), accurate in both tails; results below the normal numbers are 0.
template <class T>
inline Lanes<T> sigmoid(Lanes<T> x) {
  const Lanes<T> e = exp_nonpositive(minus_abs(x));
  return select(x < Lanes<T>(T(0)), e, T(1)) / (e + T(1));
}

/// ln(1 + e^x), without overflow; results below the normal numbers are 0.
template <class T>
inline Lanes<T> softplus(Lanes<T> x) {
  return max(Lanes<T>(T(0)), x) + log1p(exp_nonpositive(minus_abs(x)));
}

namespace internal {

/// Applies a C library function f lane by lane: right in every special case, but slow (about 20 ns per lane).
template <class T, class F>
inline Lanes<T> each_lane(Lanes<T> a, Lanes<T> b, const F& f) {
  T x[static_cast<std::size_t>(kLanes<T>)], y[static_cast<std::size_t>(kLanes<T>)];
  store(x, a);
  store(y, b);
  for (Size i = 0; i < kLanes<T>; ++i) x[i] = f(x[i], y[i]);
  return load(static_cast<const T*>(x));
}

}  // namespace internal

/// a − b·trunc(a / b), exactly: the remainder with the sign of a, like C's fmod and %. Integers that T represents
/// exactly use vector arithmetic, others the C library.
template <class T>
inline Lanes<T> fmod(Lanes<T> a, internal::Same<T> b) {
  const Lanes<T> zero(T(0)), most(static_cast<T>(Size(1) << std::numeric_limits<T>::digits));
  if (all((a == trunc(a)) & (b == trunc(b)) & (abs(a) <= most) & (abs(b) <= most) & (b != zero)))
    return copysign(a - b * trunc(a / b), a);
  return internal::each_lane(a, b, [](T x, T y) { return std::fmod(x, y); });
}
/// trunc(a / b), consistent with fmod(a, b).
template <class T>
inline Lanes<T> trunc_div(Lanes<T> a, internal::Same<T> b) {
  return floor((a - fmod(a, b)) / b + T(0.5));  // an integer, up to the rounding of the division
}
template <class T>
inline Lanes<T> operator%(Lanes<T> a, internal::Same<T> b) {
  return fmod(a, b);
}
template <class Number, class T>
requires std::is_arithmetic_v<Number>
inline Lanes<T> operator%(Number a, Lanes<T> b) { return fmod(Lanes<T>(a), b); }

/// a^b with the C library's pow.
template <class T>
inline Lanes<T> pow(Lanes<T> a, Lanes<T> b) {
  return internal::each_lane(a, b, [](T x, T y) { return std::pow(x, y); });
}
/// x^number; the exponents −2, −1, 0, 1, 2 and 3 use vector arithmetic.
template <class T>
inline Lanes<T> pow(Lanes<T> x, double number) {
  const Lanes<T> one(T(1));
  const T exponent = static_cast<T>(number);
  if (exponent == T(2)) return x * x;
  if (exponent == T(1)) return x;
  if (exponent == T(0)) return one;
  if (exponent == T(3)) return x * x * x;
  if (exponent == T(-1)) return one / x;
  if (exponent == T(-2)) return one / (x * x);
  return pow(x, Lanes<T>(exponent));
}
template <class Number, class T>
requires std::is_arithmetic_v<Number>
inline Lanes<T> pow(Number a, Lanes<T> b) { return pow(Lanes<T>(a), b); }
/// d·b·a^(b − 1): the change of a^b when a changes by d. 0 where d or b is 0, even if a factor is infinite or NaN.
template <class T>
inline Lanes<T> pow_slope(Lanes<T> a, Lanes<T> b, Lanes<T> d) {
  const Lanes<T> zero(T(0));
  if (all((d == zero) | (b == zero))) return zero;
  return select((d == zero) | (b == zero), zero, d * b * pow(a, b - T(1)));
}
/// d·y·ln a with y = a^b: the change of a^b when b changes by d. 0 where d or y is 0.
template <class T>
inline Lanes<T> pow_exponent_slope(Lanes<T> a, Lanes<T> y, Lanes<T> d) {
  const Lanes<T> zero(T(0));
  if (all(d == zero)) return zero;
  return select((d == zero) | (y == zero), zero, d * y * log(a));
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
