#include "core/ops/arithmetic.hpp"

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

void add_in_place(Tensor& sum, const Tensor& x) {
  check_same_dtype(sum, x, "add_in_place", {});
  zip_into(sum, sum, x, simd::Add{});
}

namespace {

/// Calls f on the two operands as tensors. A number becomes a tensor of rank 0 with the other operand's dtype.
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

// y = x in another type        ∂x = dy in the type of x
Tensor Tensor::to(DType target, CallSite at) const {
  if (target == dtype()) return *this;
  Tensor result = uninitialised(shape(), target);
  if (target == DType::f32)
    simd::convert(result.mutable_view<float>(), view<double>());
  else
    simd::convert(result.mutable_view<double>(), view<float>());
  return op<"to">(at, std::move(result),
                  wrt(*this, [from = dtype()](const Tensor& dy) { return dy.to(from); }));
}

}  // namespace tapestry
