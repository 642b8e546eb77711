// Matrix products.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// (…, m, k) · (…, k, n) → (…, m, n). Leading axes broadcast; either operand may be a transposed view and is
/// read in place. Operands have at least two axes. The product is laid out in memory as b is: interleaved
/// matrices (heads) stay interleaved.
Tensor matmul(const Tensor& a, const Tensor& b, CallSite at = {});
/// x Wᵀ + b: x (…, in), weight (out, in), bias (out) or an empty handle → (…, out).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, CallSite at = {});

namespace detail {

/// c = a·b (+ bias in every row), or c += a·b, for tensors whose shapes fit, outside any tape; c's rows are
/// dense.
void multiply(Tensor& c, const Tensor& a, const Tensor& b, const Tensor& bias = {}, bool accumulate = false);

}  // namespace detail

}  // namespace tapestry
