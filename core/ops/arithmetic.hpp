// Element-wise arithmetic with NumPy broadcasting, and the operators + - * / += -= *= /= for it.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// add, sub, mul and div return a + b, a − b, a × b and a / b, element by element. Shapes broadcast. They throw Error
/// for shapes that do not broadcast and for different dtypes.
Tensor add(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor sub(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor mul(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor div(const Tensor& a, const Tensor& b, CallSite at = {});
/// Returns −a.
Tensor neg(const Tensor& a, CallSite at = {});

/// Adds x to `sum` in place, without recording an op; used to accumulate gradients. x broadcasts to `sum`.
void add_in_place(Tensor& sum, const Tensor& x);

/// An operand of + - * /: a tensor, or a number, which takes the dtype of the other operand. Also stores the line
/// of the expression.
struct Operand {
  Operand(const Tensor& tensor_in, CallSite at_in = {}) : tensor(&tensor_in), at(at_in) {}
  Operand(double number_in, CallSite at_in = {}) : number(number_in), at(at_in) {}

  const Tensor* tensor = nullptr;  // null for a number
  double number = 0;               // used if `tensor` is null
  CallSite at;                     // source line of the expression
};

namespace detail {

/// Returns a. Fails to compile for a Parameter, because its module and its optimiser must keep the same tensor.
template <class T>
Tensor& rebind(T& a) {
  static_assert(
      std::is_same_v<T, Tensor>,
      "a parameter cannot be assigned; use assign(parameter, values), or copy it: Tensor x = parameter");
  return a;
}

}  // namespace detail

/// a + b, a - b, a * b, a / b and -a call add(), sub(), mul(), div() and neg(). One of two operands may be a number.
Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);

/// `a += b` means `a = a + b`: it records an add and assigns the new tensor to a. Other copies of a keep the old
/// tensor. The same holds for a -= b, a *= b and a /= b. A Parameter cannot be assigned.
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
