// Sums of products over named axes (Einstein summation).
#pragma once

#include <string_view>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Computes a sum of products from an equation, as in PyTorch: "bij,bjk->bik" is a batched matmul. Each letter names
/// an axis. Letters missing from the result are summed over. A letter repeated within an operand selects its
/// diagonal. Without "->", the result has the letters that occur once, in alphabetical order. An axis of size 1
/// broadcasts to the other operand's axis. Spaces are ignored. Throws Error for an ellipsis, and if the letters do
/// not match the operands' axes.
Tensor einsum(std::string_view equation, const Tensor& a, CallSite at = {});
Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b, CallSite at = {});

}  // namespace tapestry
