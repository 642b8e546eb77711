// New tensors with a given memory layout: that of another tensor, or dense.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Allocates an uninitialised tensor of this shape, with its axes in memory in the same order as x's. If x's matrices
/// are interleaved row by row, as attention heads are, so are the result's: joining the heads is a view. The last axis
/// is contiguous.
Tensor uninitialised_like(const Tensor& x, const Dims& shape);

/// Copies x's values in row-major order to new memory, off the tape.
Tensor dense_copy(const Tensor& x);

}  // namespace tapestry
