// Matrix products, batched and with a bias.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Matrix product: (…, m, k) · (…, k, n) → (…, m, n). Leading axes broadcast. Transposed views are read without a
/// copy. If the matrices of b are interleaved in memory, as attention heads are, so are those of the product. Throws
/// Error for an operand with fewer than two axes, and for different inner sizes or dtypes.
Tensor matmul(const Tensor& a, const Tensor& b, CallSite at = {});
/// Returns x Wᵀ + b: x (…, in), weight (out, in), bias (out) or an empty handle → (…, out). Other shapes throw Error.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, CallSite at = {});

namespace detail {

/// Computes c = a·b (+ bias in every row), or c += a·b if `accumulate`, without recording it. Leading axes of a and b
/// broadcast to c. Does not check shapes. The rows of c must be dense.
void multiply(Tensor& c, const Tensor& a, const Tensor& b, const Tensor& bias = {}, bool accumulate = false);

}  // namespace detail

}  // namespace tapestry
