// Matrix products, batched and with a bias.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// (…, m, k) · (…, k, n) → (…, m, n). Leading axes broadcast. Transposed views are read without a copy. Throws Error
/// for an operand with fewer than two axes, and for inner sizes or dtypes that differ. The product has b's memory
/// layout: interleaved matrices (heads) stay interleaved.
Tensor matmul(const Tensor& a, const Tensor& b, CallSite at = {});
/// x Wᵀ + b: x (…, in), weight (out, in), bias (out) or an empty handle → (…, out). Other shapes throw Error.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, CallSite at = {});

namespace detail {

/// Computes c = a·b (+ bias in every row), or c += a·b, off the tape. Leading axes of a and b broadcast to c. Shapes
/// must match (not checked), and the rows of c must be dense.
void multiply(Tensor& c, const Tensor& a, const Tensor& b, const Tensor& bias = {}, bool accumulate = false);

}  // namespace detail

}  // namespace tapestry
