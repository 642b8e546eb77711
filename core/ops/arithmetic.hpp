// Arithmetic on elements, with NumPy's broadcasting: + − × ÷, powers, extremes, and the operators for them.
#pragma once

#include <optional>

#include "core/tensor/tensor.hpp"

namespace tapestry {

Tensor add(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor sub(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor mul(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor div(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor neg(const Tensor& a, CallSite at = {});
/// a raised to a number.
Tensor pow(const Tensor& a, double exponent, CallSite at = {});
/// Element-wise aᵇ. The derivative with respect to a is taken as 0 where b is 0, that with respect to b where
/// aᵇ is.
Tensor pow(const Tensor& a, const Tensor& b, CallSite at = {});
/// a − b·trunc(a / b), exactly, with the sign of a, as C's fmod and % have it.
Tensor fmod(const Tensor& a, const Tensor& b, CallSite at = {});
/// The larger (smaller) of two elements; a tie gives each half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor minimum(const Tensor& a, const Tensor& b, CallSite at = {});
/// Elements outside [low, high] are moved to the nearer end and get no gradient; one
/// that lies on an end keeps all of its own.
Tensor clamp(const Tensor& x, double low, double high, CallSite at = {});

/// sum += x, for a dense `sum` that nobody else holds: gradients add up with it, no op records it.
void add_in_place(Tensor& sum, const Tensor& x);

/// A tensor, or a plain number that takes the type of the tensor beside it; remembers the line it was written
/// on.
struct Operand {
  Operand(const Tensor& tensor_in, CallSite at_in = {}) : tensor(&tensor_in), at(at_in) {}
  Operand(double number_in, CallSite at_in = {}) : number(number_in), at(at_in) {}

  const Tensor* tensor = nullptr;
  double number = 0;
  CallSite at;
};

Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);

}  // namespace tapestry
