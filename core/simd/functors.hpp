// Functors for map: one per element-wise op and one per fused derivative, called with Lanes<T> values.
//
// Derivatives take dy first, then x (the op's input) or y (its result). kCost is the cost relative to an addition;
// it sets the number of elements per chunk.
#pragma once

#include "core/simd/gelu.hpp"
#include "core/simd/lanes.hpp"
#include "core/simd/math.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

// clang-format off

// ---- two operands ----
struct Add { template <class B> B operator()(B a, B b) const { return a + b; } };
struct Sub { template <class B> B operator()(B a, B b) const { return a - b; } };
struct Mul { template <class B> B operator()(B a, B b) const { return a * b; } };
struct Div { template <class B> B operator()(B a, B b) const { return a / b; } };
/// The larger (smaller) of the two; NaN where either is NaN.
struct Max { template <class B> B operator()(B a, B b) const { return max_nan(a, b); } };
struct Min { template <class B> B operator()(B a, B b) const { return min_nan(a, b); } };
/// a^b, and a − b·trunc(a / b) with the sign of a.
struct Pow { static constexpr Size kCost = 64; template <class B> B operator()(B a, B b) const { return pow(a, b); } };
struct Fmod { static constexpr Size kCost = 32; template <class B> B operator()(B a, B b) const { return fmod(a, b); } };
/// trunc(a / b).
struct TruncDiv {
  static constexpr Size kCost = 32;
  template <class B> B operator()(B a, B b) const { return trunc_div(a, b); }
};

// ---- one operand ----
struct Neg { template <class B> B operator()(B x) const { return -x; } };
struct Abs { template <class B> B operator()(B x) const { return abs(x); } };
struct Square { template <class B> B operator()(B x) const { return x * x; } };
struct Sqrt { static constexpr Size kCost = 2; template <class B> B operator()(B x) const { return sqrt(x); } };
struct Exp { static constexpr Size kCost = 4; template <class B> B operator()(B x) const { return exp(x); } };
struct Log { static constexpr Size kCost = 4; template <class B> B operator()(B x) const { return log(x); } };
struct Tanh { static constexpr Size kCost = 4; template <class B> B operator()(B x) const { return tanh(x); } };
struct Sigmoid { static constexpr Size kCost = 4; template <class B> B operator()(B x) const { return sigmoid(x); } };
struct Softplus { static constexpr Size kCost = 8; template <class B> B operator()(B x) const { return softplus(x); } };
struct Silu {
  static constexpr Size kCost = 4;
  template <class B> B operator()(B x) const { return x * sigmoid(x); }
};
struct LogSigmoid {
  static constexpr Size kCost = 8;
  template <class B> B operator()(B x) const { return -softplus(-x); }
};
struct Sin { static constexpr Size kCost = 4; template <class B> B operator()(B x) const { return sin(x); } };
struct Cos { static constexpr Size kCost = 4; template <class B> B operator()(B x) const { return cos(x); } };
struct Floor { template <class B> B operator()(B x) const { return floor(x); } };
struct Gelu { static constexpr Size kCost = 4; template <class B> B operator()(B x) const { return gelu(x); } };
struct GeluErf { static constexpr Size kCost = 4; template <class B> B operator()(B x) const { return gelu_erf(x); } };
/// max(x, 0); NaN is kept.
struct Relu {
  template <class B> B operator()(B x) const { return max(B(typename B::value_type(0)), x); }
};
/// −1, 0 or 1; NaN is kept.
struct Sign {
  template <class B> B operator()(B x) const {
    using T = typename B::value_type;
    return select(x > B(T(0)), T(1), select(x < B(T(0)), T(-1), x));
  }
};

// clang-format on

// ---- derivatives: dy · f′ ----

/// dy·(1 − y²) with y = tanh x.
struct TanhGrad {
  template <class B>
  B operator()(B dy, B y) const {
    return dy * fma(-y, y, typename B::value_type(1));
  }
};
/// dy·y·(1 − y) with y = sigmoid x.
struct SigmoidGrad {
  template <class B>
  B operator()(B dy, B y) const {
    return dy * y * (typename B::value_type(1) - y);
  }
};
/// dy where x > 0, else 0 (also at x = 0).
struct ReluGrad {
  template <class B>
  B operator()(B dy, B x) const {
    using T = typename B::value_type;
    return select(x > B(T(0)), dy, T(0));
  }
};
/// dy·gelu′(x) for the tanh form.
struct GeluGrad {
  static constexpr Size kCost = 4;
  template <class B>
  B operator()(B dy, B x) const {
    return dy * gelu_slope(x);
  }
};
/// dy·gelu′(x) for the exact form.
struct GeluErfGrad {
  static constexpr Size kCost = 4;
  template <class B>
  B operator()(B dy, B x) const {
    return dy * gelu_erf_slope(x);
  }
};
/// dy·s·(1 + x·(1 − s)) with s = sigmoid x.
struct SiluGrad {
  static constexpr Size kCost = 4;
  template <class B>
  B operator()(B dy, B x) const {
    using T = typename B::value_type;
    const B s = sigmoid(x);
    return dy * s * fma(x, B(T(1)) - s, T(1));
  }
};

// ---- functors with double parameters, which are converted to T, and comparisons ----

/// x^exponent.
struct PowTo {
  static constexpr Size kCost = 4;
  double exponent;
  template <class T>
  Lanes<T> operator()(Lanes<T> x) const {
    return pow(x, exponent);
  }
};
/// x limited to [low, high]; NaN is kept.
struct Clamp {
  double low, high;
  template <class T>
  Lanes<T> operator()(Lanes<T> x) const {
    return min(Lanes<T>(static_cast<T>(high)), max(Lanes<T>(static_cast<T>(low)), x));
  }
};
/// x where x > 0, alpha·(e^x − 1) elsewhere; NaN is kept. With t = tanh(x / 2), e^x − 1 = 2t / (1 − t) is accurate
/// near 0, too.
struct Elu {
  static constexpr Size kCost = 4;
  double alpha;
  template <class T>
  Lanes<T> operator()(Lanes<T> x) const {
    const Lanes<T> t = tanh(min(Lanes<T>(T(0)), x) * T(0.5));
    return select(x > Lanes<T>(T(0)), x, Lanes<T>(static_cast<T>(2 * alpha)) * t / (Lanes<T>(T(1)) - t));
  }
};
/// 1 where low ≤ x ≤ high, else 0.
struct IsWithin {
  double low, high;
  template <class T>
  Lanes<T> operator()(Lanes<T> x) const {
    return select((x >= Lanes<T>(static_cast<T>(low))) & (x <= Lanes<T>(static_cast<T>(high))),
                  Lanes<T>(T(1)), T(0));
  }
};
/// Derivative of max(a, b) with respect to a: 1 if a > b, ½ if a = b, else 0. For min, exchange a and b.
struct MaxGrad {
  template <class B>
  B operator()(B a, B b) const {
    using T = typename B::value_type;
    return select(a > b, B(T(1)), select(a == b, B(T(0.5)), T(0)));
  }
};
/// 1 where a = b, else 0.
struct IsEqual {
  template <class B>
  B operator()(B a, B b) const {
    using T = typename B::value_type;
    return select(a == b, B(T(1)), T(0));
  }
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
