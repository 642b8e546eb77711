// Element-wise arithmetic with NumPy broadcasting, and the operators + - * / += -= *= /= for it.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// add, sub, mul and div return a + b, a − b, a × b and a / b, element by element. Shapes broadcast. Throws
/// Error for shapes that do not, and for dtypes that differ.
Tensor add(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor sub(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor mul(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor div(const Tensor& a, const Tensor& b, CallSite at = {});
/// −x
Tensor neg(const Tensor& a, CallSite at = {});

/// Computes sum += x off the tape, to accumulate gradients. x broadcasts to `sum`, which no other reader may share.
void add_in_place(Tensor& sum, const Tensor& x);

/// An argument of an operator: a tensor, or a number that takes the dtype of the other argument. Stores the call
/// site.
struct Operand {
  Operand(const Tensor& tensor_in, CallSite at_in = {}) : tensor(&tensor_in), at(at_in) {}
  Operand(double number_in, CallSite at_in = {}) : number(number_in), at(at_in) {}

  const Tensor* tensor = nullptr;  // null for a number
  double number = 0;               // used if `tensor` is null
  CallSite at;                     // source line of the expression
};

namespace detail {

/// Returns a, the handle to assign to. Fails to compile for a Parameter, which a module and an optimiser share.
template <class T>
Tensor& rebind(T& a) {
  static_assert(
      std::is_same_v<T, Tensor>,
      "a parameter cannot be assigned; use assign(parameter, values), or copy it: Tensor x = parameter");
  return a;
}

}  // namespace detail

/// a + b, a - b, a * b, a / b and -a call add(), sub(), mul(), div() and neg(). Operands are tensors, or a tensor
/// and a number.
Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);

/// a += b, a -= b, a *= b and a /= b assign a + b, a - b, a * b and a / b to the handle a, as in `x = x + y`. They
/// record the same op, and other handles keep the old tensor. A Parameter cannot be assigned.
template <std::derived_from<Tensor> T>
Tensor& operator+=(T& a, const Operand& b) {
  return detail::rebind(a) = Operand(a, b.at) + b;
}
template <std::derived_from<Tensor> T>
Tensor& operator-=(T& a, const Operand& b) {
  return detail::rebind(a) = Operand(a, b.at) - b;
}
template <std::derived_from<Tensor> T>
Tensor& operator*=(T& a, const Operand& b) {
  return detail::rebind(a) = Operand(a, b.at) * b;
}
template <std::derived_from<Tensor> T>
Tensor& operator/=(T& a, const Operand& b) {
  return detail::rebind(a) = Operand(a, b.at) / b;
}

}  // namespace tapestry
