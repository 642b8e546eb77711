#include "core/ops/arithmetic.hpp"

#include "core/ops/pointwise.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/map.hpp"

namespace tapestry {

// y = a + b        ∂a = dy        ∂b = dy
Tensor add(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"add">(at, zip(a, b, simd::Add{}, at), wrt(a, [](const Tensor& dy) { return dy; }),
                   wrt(b, [](const Tensor& dy) { return dy; }));
}

// y = a − b        ∂a = dy        ∂b = −dy
Tensor sub(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"sub">(at, zip(a, b, simd::Sub{}, at), wrt(a, [](const Tensor& dy) { return dy; }),
                   wrt(b, [](const Tensor& dy) { return -dy; }));
}

// y = a ⊙ b        ∂a = dy ⊙ b        ∂b = dy ⊙ a
Tensor mul(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"mul">(at, zip(a, b, simd::Mul{}, at), wrt(a, [b](const Tensor& dy) { return dy * b; }),
                   wrt(b, [a](const Tensor& dy) { return dy * a; }));
}

// y = a / b        ∂a = dy / b        ∂b = −dy ⊙ y / b
Tensor div(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"div">(at, zip(a, b, simd::Div{}, at), wrt(a, [b](const Tensor& dy) { return dy / b; }),
                   wrt(b, [b](const Tensor& dy, const Tensor& y) { return -(dy * y / b); }));
}

// y = −a           ∂a = −dy
Tensor neg(const Tensor& a, CallSite at) {
  return op<"neg">(at, map(a, simd::Neg{}), wrt(a, [](const Tensor& dy) { return -dy; }));
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
  // 0 where `by` is 0, also where 0 would meet an infinity.
  const auto safe = [](const Tensor& by, const Tensor& x) {
    const Tensor zero = scalar(0, x.dtype());
    return where(less(by, zero) | less(zero, by), x, scalar(1, x.dtype()));
  };
  return op<"power">(
      at, zip(a, b, simd::Pow{}, at),
      wrt(a, [a, b, safe](const Tensor& dy) { return dy * b * pow(safe(b, a), b - 1.0); }),
      wrt(b, [a, safe](const Tensor& dy, const Tensor& y) { return dy * y * log(safe(y, a)); }));
}

// y = a − b ⊙ trunc(a / b)        ∂a = dy        ∂b = −dy ⊙ trunc(a / b)
Tensor fmod(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"fmod">(at, zip(a, b, simd::Fmod{}, at), wrt(a, [](const Tensor& dy) { return dy; }),
                    wrt(b, [a, b](const Tensor& dy) { return -(dy * zip(a, b, simd::WholeQuotient{})); }));
}

// y = max(a, b)    ∂a = dy where a > b, dy / 2 where a = b, 0 elsewhere
Tensor maximum(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"maximum">(at, zip(a, b, simd::Max{}, at),
                       wrt(a, [a, b](const Tensor& dy) { return dy * zip(a, b, simd::ShareOfLarger{}); }),
                       wrt(b, [a, b](const Tensor& dy) { return dy * zip(b, a, simd::ShareOfLarger{}); }));
}

// y = min(a, b)    ∂a = dy where a < b, dy / 2 where a = b, 0 elsewhere
Tensor minimum(const Tensor& a, const Tensor& b, CallSite at) {
  return op<"minimum">(at, zip(a, b, simd::Min{}, at),
                       wrt(a, [a, b](const Tensor& dy) { return dy * zip(b, a, simd::ShareOfLarger{}); }),
                       wrt(b, [a, b](const Tensor& dy) { return dy * zip(a, b, simd::ShareOfLarger{}); }));
}

// y = min(max(x, low), high)        ∂x = dy where low ≤ x ≤ high, 0 elsewhere
Tensor clamp(const Tensor& x, double low, double high, CallSite at) {
  if (!(low <= high)) fail("[clamp] wants low <= high, not {} and {} ({}:{})", low, high, at.file, at.line);
  return op<"clamp">(at, map(x, simd::Clamp{low, high}), wrt(x, [x, low, high](const Tensor& dy) {
                       return dy * map(x, simd::IsWithin{low, high});
                     }));
}

void add_in_place(Tensor& sum, const Tensor& x) {
  check_same_dtype(sum, x, "add_in_place", {});
  zip_into(sum, sum, x, simd::Add{});
}

namespace {

/// Calls f on the two operands as tensors; a number becomes a tensor of rank 0 of the other's type.
template <class F>
Tensor with_tensors(const Operand& a, const Operand& b, F f) {
  if (a.tensor && b.tensor) return f(*a.tensor, *b.tensor);
  if (a.tensor) return f(*a.tensor, scalar(b.number, a.tensor->dtype()));
  return f(scalar(a.number, b.tensor->dtype()), *b.tensor);
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) {
  return with_tensors(a, b, [&](const Tensor& x, const Tensor& y) { return add(x, y, a.at); });
}
Tensor operator-(const Operand& a, const Operand& b) {
  return with_tensors(a, b, [&](const Tensor& x, const Tensor& y) { return sub(x, y, a.at); });
}
Tensor operator*(const Operand& a, const Operand& b) {
  return with_tensors(a, b, [&](const Tensor& x, const Tensor& y) { return mul(x, y, a.at); });
}
Tensor operator/(const Operand& a, const Operand& b) {
  return with_tensors(a, b, [&](const Tensor& x, const Tensor& y) { return div(x, y, a.at); });
}
Tensor operator-(const Operand& a) { return neg(*a.tensor, a.at); }

}  // namespace tapestry
