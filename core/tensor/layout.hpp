// Memory for results: in which order the axes of a new tensor are stored.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// New memory of this shape, laid out as `model` is: where its matrices lie side by side, row by row, as the
/// heads of attention do, so do the result's, and joining the heads is a view. The last axis is contiguous.
Tensor uninitialised_like(const Tensor& model, const Dims& shape);

/// x's values in row-major order in new memory, which nobody else holds; on no tape.
Tensor dense_copy(const Tensor& x);

}  // namespace tapestry
