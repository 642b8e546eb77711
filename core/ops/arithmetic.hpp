// Element-wise arithmetic with NumPy broadcasting, and the operators + - * / for it.
#pragma once

#include <optional>

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

/// a + b, a - b, a * b, a / b and -a call add(), sub(), mul(), div() and neg(). Operands are tensors, or a tensor and a
/// number.
Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);

}  // namespace tapestry
