// Values and derivatives of element-wise functions.
#include "core/ops/pointwise.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <span>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/map.hpp"

namespace tapestry {

// y = eˣ           ∂x = dy ⊙ y
Tensor exp(const Tensor& x, CallSite at) {
  return op<"exp">(at, map(x, simd::Exp{}), wrt(x, [](const Tensor& dy, const Tensor& y) { return dy * y; }));
}

// y = ln x         ∂x = dy / x
Tensor log(const Tensor& x, CallSite at) {
  return op<"log">(at, map(x, simd::Log{}), wrt(x, [x](const Tensor& dy) { return dy / x; }));
}

// y = √x           ∂x = dy / 2y
Tensor sqrt(const Tensor& x, CallSite at) {
  return op<"sqrt">(at, map(x, simd::Sqrt{}),
                    wrt(x, [](const Tensor& dy, const Tensor& y) { return dy / (2.0 * y); }));
}

// y = |x|          ∂x = dy ⊙ sign x
Tensor abs(const Tensor& x, CallSite at) {
  return op<"abs">(at, map(x, simd::Abs{}),
                   wrt(x, [x](const Tensor& dy) { return dy * map(x, simd::Sign{}); }));
}

// y = sin x        ∂x = dy ⊙ cos x
Tensor sin(const Tensor& x, CallSite at) {
  return op<"sin">(at, map(x, simd::Sin{}), wrt(x, [x](const Tensor& dy) { return dy * cos(x); }));
}

// y = cos x        ∂x = −dy ⊙ sin x
Tensor cos(const Tensor& x, CallSite at) {
  return op<"cos">(at, map(x, simd::Cos{}), wrt(x, [x](const Tensor& dy) { return -(dy * sin(x)); }));
}

// y = ⌊x⌋          ∂x = 0
Tensor floor(const Tensor& x, CallSite at) {
  return op<"floor">(at, map(x, simd::Floor{}),
                     wrt(x, [](const Tensor& dy) { return zeros(dy.shape(), dy.dtype()); }));
}

namespace {

// The derivatives of the common activations are separate ops: each makes one pass over memory and is differentiable
// again.

// g = dy ⊙ (1 − y²)        ∂dy = dg ⊙ (1 − y²)        ∂y = −2 dg ⊙ dy ⊙ y
Tensor tanh_grad(const Tensor& dy, const Tensor& y, CallSite at = {}) {
  return op<"tanh_grad">(at, zip(dy, y, simd::TanhGrad{}),
                         wrt(dy, [y](const Tensor& dg) { return tanh_grad(dg, y); }),
                         wrt(y, [dy, y](const Tensor& dg) { return -2.0 * dg * dy * y; }));
}

// g = dy ⊙ y ⊙ (1 − y)     ∂dy = dg ⊙ y ⊙ (1 − y)     ∂y = dg ⊙ dy ⊙ (1 − 2y)
Tensor sigmoid_grad(const Tensor& dy, const Tensor& y, CallSite at = {}) {
  return op<"sigmoid_grad">(at, zip(dy, y, simd::SigmoidGrad{}),
                            wrt(dy, [y](const Tensor& dg) { return sigmoid_grad(dg, y); }),
                            wrt(y, [dy, y](const Tensor& dg) { return dg * dy * (1.0 - 2.0 * y); }));
}

// g = dy where y > 0, 0 elsewhere        ∂dy = dg where y > 0, 0 elsewhere
Tensor relu_grad(const Tensor& dy, const Tensor& y, CallSite at = {}) {
  return op<"relu_grad">(at, zip(dy, y, simd::ReluGrad{}),
                         wrt(dy, [y](const Tensor& dg) { return relu_grad(dg, y); }));
}

// g = dy ⊙ (Φ(x) + x φ(x))        ∂dy = dg ⊙ (Φ(x) + x φ(x))        ∂x = dg ⊙ dy ⊙ φ(x) (2 − x²)
Tensor gelu_grad(const Tensor& dy, const Tensor& x, CallSite at = {}) {
  return op<"gelu_grad">(at, zip(dy, x, simd::GeluErfGrad{}),
                         wrt(dy, [x](const Tensor& dg) { return gelu_grad(dg, x); }),
                         wrt(x, [dy, x](const Tensor& dg) {
                           constexpr double kDensityAt0 = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
                           const Tensor square = x * x;
                           return dg * dy * (kDensityAt0 * exp(-0.5 * square)) * (2.0 - square);
                         }));
}

}  // namespace

// y = tanh x       ∂x = dy ⊙ (1 − y²)
Tensor tanh(const Tensor& x, CallSite at) {
  return op<"tanh">(at, map(x, simd::Tanh{}),
                    wrt(x, [](const Tensor& dy, const Tensor& y) { return tanh_grad(dy, y); }));
}

// y = 1 / (1 + e⁻ˣ)        ∂x = dy ⊙ y ⊙ (1 − y)
Tensor sigmoid(const Tensor& x, CallSite at) {
  return op<"sigmoid">(at, map(x, simd::Sigmoid{}),
                       wrt(x, [](const Tensor& dy, const Tensor& y) { return sigmoid_grad(dy, y); }));
}

// y = max(x, 0)    ∂x = dy where y > 0 (equivalent to x > 0), 0 elsewhere
Tensor relu(const Tensor& x, CallSite at) {
  return op<"relu">(at, map(x, simd::Relu{}),
                    wrt(x, [](const Tensor& dy, const Tensor& y) { return relu_grad(dy, y); }));
}

// erf form:  y = x Φ(x)                                                   ∂x = dy ⊙ (Φ(x) + x φ(x))
// tanh form: y = x/2 ⊙ (1 + tanh u), u = √(2/π) (x + 0.044715 x³)         ∂x by one kernel
Tensor gelu(const Tensor& x, Gelu form, CallSite at) {
  if (form == Gelu::erf)
    return op<"gelu">(at, map(x, simd::GeluErf{}),
                      wrt(x, [x](const Tensor& dy) { return gelu_grad(dy, x); }));
  return op<"gelu_tanh">(at, map(x, simd::Gelu{}),
                         wrt(x, [x](const Tensor& dy) { return zip(dy, x, simd::GeluGrad{}); }),
                         decomposition([x] {
                           const double scale = std::sqrt(2.0 / std::numbers::pi);
                           return 0.5 * x * (1.0 + tanh(scale * (x + 0.044715 * x * x * x)));
                         }));
}

// y = log(1 + eˣ)  ∂x = dy ⊙ 1 / (1 + e⁻ˣ)
Tensor softplus(const Tensor& x, CallSite at) {
  return op<"softplus">(at, map(x, simd::Softplus{}),
                        wrt(x, [x](const Tensor& dy) { return dy * sigmoid(x); }));
}

namespace {

// g = dy ⊙ s ⊙ (1 + x ⊙ (1 − s)), s = 1 / (1 + e⁻ˣ)
// ∂dy = dg ⊙ s ⊙ (1 + x ⊙ (1 − s))        ∂x = dg ⊙ dy ⊙ s ⊙ (1 − s) ⊙ (2 + x ⊙ (1 − 2s))
Tensor silu_grad(const Tensor& dy, const Tensor& x, CallSite at = {}) {
  return op<"silu_grad">(at, zip(dy, x, simd::SiluGrad{}),
                         wrt(dy, [x](const Tensor& dg) { return silu_grad(dg, x); }),
                         wrt(x, [dy, x](const Tensor& dg) {
                           const Tensor s = sigmoid(x);
                           return dg * dy * s * (1.0 - s) * (2.0 + x * (1.0 - 2.0 * s));
                         }));
}

}  // namespace

// y = x / (1 + e⁻ˣ)        ∂x by silu_grad
Tensor silu(const Tensor& x, CallSite at) {
  return op<"silu">(at, map(x, simd::Silu{}), wrt(x, [x](const Tensor& dy) { return silu_grad(dy, x); }));
}

// y = x where x > 0, α (eˣ − 1) elsewhere        ∂x = dy where x > 0, dy ⊙ α eˣ elsewhere
Tensor elu(const Tensor& x, double alpha, CallSite at) {
  return op<"elu">(at, map(x, simd::Elu{alpha}), wrt(x, [x, alpha](const Tensor& dy) {
                     const Tensor zero = scalar(0, x.dtype());
                     const Mask above = greater(x, zero);
                     // eˣ of the elements above 0 could overflow, so it is not computed.
                     return where(above, dy, dy * (alpha * exp(where(above, zero, x))));
                   }));
}

// y = −log(1 + e⁻ˣ)        ∂x = dy / (1 + eˣ)
Tensor log_sigmoid(const Tensor& x, CallSite at) {
  return op<"log_sigmoid">(at, map(x, simd::LogSigmoid{}),
                           wrt(x, [x](const Tensor& dy) { return dy * sigmoid(-x); }));
}

namespace {

/// Returns the shape that a mask and `shape` broadcast to. Throws Error if they do not.
Dims shape_with(const Mask& mask, const Dims& shape, CallSite at) {
  const auto [joint, clash] = joint_shape(mask.shape(), shape);
  if (clash > 0)
    fail(
        "[where] a mask of shape {} does not broadcast with values of shape {}: "
        "axis -{} has sizes {} and {} ({}:{})",
        to_string(mask.shape()), to_string(shape), clash, mask.shape().from_back(clash),
        shape.from_back(clash), at.file, at.line);
  return joint;
}

}  // namespace

// y = a where the mask is true, b elsewhere
// ∂a = dy where it is true, 0 elsewhere        ∂b = 0 where it is true, dy elsewhere
// The rules select and do not multiply, so that a NaN in a masked element does not spread.
Tensor where(const Mask& mask, const Tensor& a, const Tensor& b, CallSite at) {
  check_same_dtype(a, b, "where", at);
  const Dims shape = shape_with(mask, broadcast_shape(a, b, "where", at), at);
  Tensor y = Tensor::uninitialised(shape, a.dtype());
  dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::select(y.mutable_view<T>(), mask.broadcast(shape, "where"), broadcast_view<T>(a, shape),
                 broadcast_view<T>(b, shape));
  });
  return op<"where">(at, std::move(y),
                     wrt(a, [mask](const Tensor& dy) { return where(mask, dy, scalar(0.0, dy.dtype())); }),
                     wrt(b, [mask](const Tensor& dy) { return where(mask, scalar(0.0, dy.dtype()), dy); }));
}

namespace {

/// Returns the mask of the elements for which the kernel's comparison is true.
template <class Kernel>
Mask compare(const Tensor& a, const Tensor& b, const Kernel& kernel, const char* op, CallSite at) {
  check_same_dtype(a, b, op, at);
  const Dims shape = broadcast_shape(a, b, op, at);
  const auto count = static_cast<std::size_t>(shape.count());
  const auto result = std::make_unique<bool[]>(count);
  dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernel(View<bool>{result.get(), shape, dense_strides(shape)}, broadcast_view<T>(a, shape),
           broadcast_view<T>(b, shape));
  });
  return Mask(std::span<const bool>(result.get(), count), shape);
}

constexpr auto kLess = [](const auto& out, const auto& x, const auto& y) { simd::less(out, x, y); };
constexpr auto kLessEqual = [](const auto& out, const auto& x, const auto& y) {
  simd::less_equal(out, x, y);
};
constexpr auto kGreater = [](const auto& out, const auto& x, const auto& y) { simd::less(out, y, x); };
constexpr auto kGreaterEqual = [](const auto& out, const auto& x, const auto& y) {
  simd::less_equal(out, y, x);
};
constexpr auto kEqual = [](const auto& out, const auto& x, const auto& y) { simd::equal(out, x, y); };

}  // namespace

Mask less(const Tensor& a, const Tensor& b, CallSite at) { return compare(a, b, kLess, "less", at); }
Mask less_equal(const Tensor& a, const Tensor& b, CallSite at) {
  return compare(a, b, kLessEqual, "less_equal", at);
}
Mask greater(const Tensor& a, const Tensor& b, CallSite at) { return compare(a, b, kGreater, "greater", at); }
Mask greater_equal(const Tensor& a, const Tensor& b, CallSite at) {
  return compare(a, b, kGreaterEqual, "greater_equal", at);
}
Mask equal(const Tensor& a, const Tensor& b, CallSite at) { return compare(a, b, kEqual, "equal", at); }

Mask equal(const Indices& a, std::int64_t value) {
  const std::vector<std::int64_t> ids = a.to_vector();
  const auto result = std::make_unique<bool[]>(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) result[i] = ids[i] == value;
  return Mask(std::span<const bool>(result.get(), ids.size()), a.shape());
}

// y = aⁿ           ∂a = dy ⊙ n aⁿ⁻¹
Tensor pow(const Tensor& a, double exponent, CallSite at) {
  return op<"pow">(at, map(a, simd::PowTo{exponent}), wrt(a, [a, exponent](const Tensor& dy) {
                     if (exponent == 0.0) return dy * 0.0;  // 0 · a⁻¹ would be NaN at 0
                     return dy * (exponent * pow(a, exponent - 1.0));
                   }));
}

// y = aᵇ           ∂a = dy ⊙ b aᵇ⁻¹        ∂b = dy ⊙ y ln a
Tensor pow(const Tensor& a, const Tensor& b, CallSite at) {
  // Replaces x by 1 where the factor `by` is 0, so that the product is 0 there and not 0 · ∞ = NaN.
  const auto safe = [](const Tensor& by, const Tensor& x) {
    const Tensor zero = scalar(0, x.dtype());
    return where(less(by, zero) | less(zero, by), x, scalar(1, x.dtype()));
  };
  return op<"pow">(at, zip(a, b, simd::Pow{}, at),
                   wrt(a, [a, b, safe](const Tensor& dy) { return dy * b * pow(safe(b, a), b - 1.0); }),
                   wrt(b, [a, safe](const Tensor& dy, const Tensor& y) { return dy * y * log(safe(y, a)); }));
}

// y = a − b ⊙ trunc(a / b)        ∂a = dy        ∂b = −dy ⊙ trunc(a / b)
Tensor fmod(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"fmod">(at, zip(a, b, simd::Fmod{}, at), wrt(a, [](const Tensor& dy) { return dy; }),
                    wrt(b, [a, b](const Tensor& dy) { return -(dy * zip(a, b, simd::TruncDiv{})); }));
}

// y = max(a, b)    ∂a = dy where a > b, dy / 2 where a = b, 0 elsewhere
Tensor maximum(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"maximum">(at, zip(a, b, simd::Max{}, at),
                       wrt(a, [a, b](const Tensor& dy) { return dy * zip(a, b, simd::MaxGrad{}); }),
                       wrt(b, [a, b](const Tensor& dy) { return dy * zip(b, a, simd::MaxGrad{}); }));
}

// y = min(a, b)    ∂a = dy where a < b, dy / 2 where a = b, 0 elsewhere
Tensor minimum(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"minimum">(at, zip(a, b, simd::Min{}, at),
                       wrt(a, [a, b](const Tensor& dy) { return dy * zip(b, a, simd::MaxGrad{}); }),
                       wrt(b, [a, b](const Tensor& dy) { return dy * zip(a, b, simd::MaxGrad{}); }));
}

// y = min(max(x, low), high)        ∂x = dy where low ≤ x ≤ high, 0 elsewhere
Tensor clamp(const Tensor& x, double low, double high, CallSite at) {
  if (!(low <= high))
    fail("[clamp] low must be at most high, got {} and {} ({}:{})", low, high, at.file, at.line);
  return op<"clamp">(at, map(x, simd::Clamp{low, high}), wrt(x, [x, low, high](const Tensor& dy) {
                       return dy * map(x, simd::IsWithin{low, high});
                     }));
}

}  // namespace tapestry
