// Memory layout of new tensors: uninitialised memory like a model's, and dense copies.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Allocates an uninitialised tensor of this shape with the axis order of `model`. If the model's matrices are
/// interleaved row by row, as attention heads are, so are the result's, and joining the heads is a view. The last axis
/// is contiguous.
Tensor uninitialised_like(const Tensor& model, const Dims& shape);

/// Copies x's values in row-major order to new memory, off the tape.
Tensor dense_copy(const Tensor& x);

}  // namespace tapestry
