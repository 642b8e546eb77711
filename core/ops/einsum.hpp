// Sums of products over named axes (Einstein summation).
#pragma once

#include <string_view>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Computes the sum of products that an equation names, as in PyTorch: "bij,bjk->bik" is a batched matmul. Each
/// letter names an axis. Letters that the result lacks are summed over; a letter that an operand repeats selects
/// its diagonal. Without "->", the result has the letters that occur once, in alphabetical order. An axis of size 1
/// broadcasts to the other operand's axis. Spaces are ignored. Throws Error for an ellipsis, and for letters that
/// do not fit the operands.
Tensor einsum(std::string_view equation, const Tensor& a, CallSite at = {});
Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b, CallSite at = {});

}  // namespace tapestry
