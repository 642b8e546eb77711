// GELU in its exact and tanh forms, and its derivative, on lanes of float and double.
//
// GELU is max(x, 0) − a·R(a) with a = |x|, where R is the tail of its gate: Φ(−a) in the exact form. Its derivative
// is S(a) = R(a) + a·R′(a) at −a, and 1 − S(a) at a. For float, R and S are minimax fits (end − a)²·P(a)/Q(a), made
// for this file. They reach 0 at `end`, a little after 1 + R rounds to 1 in float. The fits need no exponential, and
// no terms cancel, so the error shrinks with R and S.
//
// Largest errors, measured by tests/core/simd/math_test.cpp in machine epsilons of max(1, |result|): GELU 0.9,
// derivative 1.3. Infinities and NaN give the mathematically correct results; at −∞ both functions are 0.
#pragma once

#include "core/simd/math.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace internal {

/// R and S from the coefficients of a fit, highest power first.
template <class Fit>
struct FittedTail {
  static constexpr float kEnd = Fit::kEnd, kSlopeEnd = Fit::kSlopeEnd;
  static Lanes<float> value(Lanes<float> a) {
    const Lanes<float> left = kEnd - a;
    return left * left * horner(a, Fit::kP) / horner(a, Fit::kQ);
  }
  static Lanes<float> slope(Lanes<float> a) {
    const Lanes<float> left = kSlopeEnd - a;
    return left * left * horner(a, Fit::kSlopeP) / horner(a, Fit::kSlopeQ);
  }
};

struct GeluErfFit {
  static constexpr float kEnd = 6, kSlopeEnd = 6.2f;
  static constexpr float kP[] = {1.78160274e-5f, -3.695742575e-4f, 2.908811122e-3f, -1.030654138e-2f,
                                 1.38888874e-2f};
  static constexpr float kQ[] = {9.489126316e-5f,  -2.293074899e-4f, 1.369266024e-3f,
                                 -1.085241121e-3f, 2.211341195e-2f,  -4.057041921e-2f,
                                 2.632476109e-1f,  -2.775282646e-1f, 1};
  static constexpr float kSlopeP[] = {-1.836634424e-5f, 4.136885701e-4f,  -3.602098638e-3f,
                                      1.474311482e-2f,  -2.651950511e-2f, 1.300728331e-2f};
  static constexpr float kSlopeQ[] = {1.251843862e-4f,  -1.26174051e-3f,  8.308619316e-3f,
                                      -3.429750584e-2f, 1.164751849e-1f,  -2.779027211e-1f,
                                      5.954619925e-1f,  -7.656367458e-1f, 1};
};

struct GeluTanhFit {
  static constexpr float kEnd = 5.4f, kSlopeEnd = 5.6f;
  static constexpr float kP[] = {-4.762615208e-6f, 1.210771966e-4f, -1.237043147e-3f,
                                 6.356346862e-3f,  -1.6442569e-2f,  1.714677532e-2f};
  static constexpr float kQ[] = {7.328116646e-4f,
                                 -5.522240138e-3f,
                                 3.214575761e-2f,
                                 -1.080253007e-1f,
                                 3.362036084e-1f,
                                 -5.314211932e-1f,
                                 1};
  static constexpr float kSlopeP[] = {-2.928612358e-5f, 6.207635074e-4f,  -5.084295776e-3f,
                                      1.958374143e-2f,  -3.330133809e-2f, 1.594387834e-2f};
  static constexpr float kSlopeQ[] = {1.079905844e-4f,  -1.362806571e-3f, 9.408236398e-3f,
                                      -4.080774447e-2f, 1.332135457e-1f,  -3.221209316e-1f,
                                      6.496742554e-1f,  -8.500319758e-1f, 1};
};

/// R and S of the exact form, for a up to kEnd and kSlopeEnd.
template <class T>
struct GeluErfTail : FittedTail<GeluErfFit> {};

/// Φ(−a) = erfc(b)/2 with b = a/√2. (1 + 2b)·e^(b²)·erfc b is a polynomial in (b − 3.75)/(b + 3.75), as in Shepherd
/// and Laframboise 1981 (Math. Comp. 36, 249); here it is a Chebyshev fit made for this file.
template <>
struct GeluErfTail<double> {
  static constexpr double kEnd = 40, kSlopeEnd = 40;
  static Lanes<double> value(Lanes<double> a) { return both(a).value; }
  static Lanes<double> slope(Lanes<double> a) {
    const auto [value, decay] = both(a);
    return fma(-a, decay * 0.39894228040143267794, value);
  }

 private:
  struct Both {
    Lanes<double> value, decay;  // Φ(−a) and e^(−a²/2)
  };
  static Both both(Lanes<double> a) {
    static constexpr double kSeries[] = {
        -2.62310734713347576e-9, -1.95513588689856165e-9, 3.19792667166680429e-8,  1.87908232237004813e-8,
        -2.48571262480167429e-7, -5.0844653786873022e-8,  1.74198215862248159e-6,  -9.79262570730352203e-7,
        -1.14380480333468936e-5, 2.23875657149118166e-5,  5.16465297417741613e-5,  -2.90155352460776553e-4,
        2.9371437804495803e-4,   1.75562616519706507e-3,  -9.74657968326526223e-3, 2.83622773721111388e-2,
        -5.86933985766493384e-2, 9.23043211642812499e-2,  -1.08803930142444613e-1, 8.22767384899950626e-2,
        3.58541548547902564e-3,  -1.40240598585545256e-1, 1.23751263083782753};
    const Lanes<double> b = a * 0.70710678118654752440;
    const Lanes<double> t = (b - 3.75) / (b + 3.75);
    const Lanes<double> square = b * b;
    const Lanes<double> e = exp_nonpositive(-square);
    const Lanes<double> decay = fma(-e, fma(b, b, -square), e);
    return {0.5 * decay * horner(t, kSeries) / fma(b, Lanes<double>(2.0), 1.0), decay};
  }
};

/// R and S of the tanh form, where R is 1 / (1 + e^2u) with u = √(2/π)(a + 0.044715 a³).
template <class T>
struct GeluTanhTail : FittedTail<GeluTanhFit> {};

template <>
struct GeluTanhTail<double> {
  static constexpr double kEnd = 40, kSlopeEnd = 40;
  static Lanes<double> value(Lanes<double> a) {
    const Lanes<double> e = decay(a);
    return e / (e + 1.0);
  }
  static Lanes<double> slope(Lanes<double> a) {
    const Lanes<double> e = decay(a), r = 1.0 / (e + 1.0);
    const Lanes<double> growth = fma(a * a, Lanes<double>(3 * kScale * kCubic), kScale);  // 2u′
    return e * r * (1.0 - a * growth * r);
  }

 private:
  static constexpr double kScale = 1.5957691216057307118, kCubic = 0.044715;  // 2·√(2/π)
  static Lanes<double> decay(Lanes<double> a) {
    return exp_nonpositive(a * fma(a * a, Lanes<double>(-kScale * kCubic), -kScale));
  }
};

template <class Tail, class T>
inline Lanes<T> gelu_from(Lanes<T> x) {
  const Lanes<T> a = min(Lanes<T>(Tail::kEnd), abs(x));
  return max(Lanes<T>(T(0)), x) - a * Tail::value(a);
}
template <class Tail, class T>
inline Lanes<T> gelu_slope_from(Lanes<T> x) {
  const Lanes<T> slope = Tail::slope(min(Lanes<T>(Tail::kSlopeEnd), abs(x)));
  return select(x < Lanes<T>(T(0)), slope, T(1) - slope);
}

}  // namespace internal

/// GELU in its tanh form, x/2·(1 + tanh u) with u = √(2/π)(x + 0.044715 x³) (Hendrycks and Gimpel 2016, arXiv
/// 1606.08415), and its derivative; 0 at −∞.
template <class T>
inline Lanes<T> gelu(Lanes<T> x) {
  return internal::gelu_from<internal::GeluTanhTail<T>>(x);
}
template <class T>
inline Lanes<T> gelu_slope(Lanes<T> x) {
  return internal::gelu_slope_from<internal::GeluTanhTail<T>>(x);
}
/// GELU in its exact form, x·Φ(x), and its derivative, Φ(x) + x·φ(x); 0 at −∞.
template <class T>
inline Lanes<T> gelu_erf(Lanes<T> x) {
  return internal::gelu_from<internal::GeluErfTail<T>>(x);
}
template <class T>
inline Lanes<T> gelu_erf_slope(Lanes<T> x) {
  return internal::gelu_slope_from<internal::GeluErfTail<T>>(x);
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
