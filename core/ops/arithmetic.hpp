// Arithmetic on elements, with NumPy's broadcasting: + − × ÷ and the operators for them.
#pragma once

#include <optional>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// add, sub, mul and div: a + b, a − b, a × b and a / b, element by element. Shapes broadcast; those that do
/// not, and tensors of two types, throw Error.
Tensor add(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor sub(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor mul(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor div(const Tensor& a, const Tensor& b, CallSite at = {});
/// −x
Tensor neg(const Tensor& a, CallSite at = {});

/// sum += x, for a dense `sum` that nobody else holds: gradients add up with it, no op records it.
void add_in_place(Tensor& sum, const Tensor& x);

/// A tensor, or a plain number that takes the type of the tensor beside it; remembers the line it was written
/// on.
struct Operand {
  Operand(const Tensor& tensor_in, CallSite at_in = {}) : tensor(&tensor_in), at(at_in) {}
  Operand(double number_in, CallSite at_in = {}) : number(number_in), at(at_in) {}

  const Tensor* tensor = nullptr;  // none: it is the number
  double number = 0;               // if it is no tensor
  CallSite at;                     // where it was written
};

/// a + b, a - b, a * b, a / b and -a: add(), sub(), mul(), div() and neg() of tensors, or of a tensor and a
/// number.
Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);

}  // namespace tapestry
