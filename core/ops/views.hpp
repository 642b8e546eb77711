// Views: the same buffer with another shape and strides. Only reshape() and contiguous() may copy.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Changes the shape and keeps the elements in row-major order. One size may be -1 and is then inferred. Returns a
/// view if the strides allow it, otherwise a copy. Throws Error if the number of elements would change.
Tensor reshape(const Tensor& x, const Dims& shape, CallSite at = {});
/// Reorders the axes: axis i of the result is axis order[i] of x. Throws Error unless `order` names each axis once.
Tensor permute(const Tensor& x, const Dims& order, CallSite at = {});
/// Swaps two axes.
Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1, CallSite at = {});
/// Selects elements begin, begin + step, … of an axis, up to but not including end. Negative begin and end count from
/// the back. Throws Error for an invalid range and for step < 1.
Tensor slice(const Tensor& x, int axis, Size begin, Size end, Size step = 1, CallSite at = {});
/// Selects one index of an axis and removes the axis. A negative index counts from the back. Throws Error for an index
/// out of range.
Tensor select(const Tensor& x, int axis, Size index, CallSite at = {});
/// Broadcasts x to `shape`: repeats axes of size 1 and adds leading axes, as a view with stride 0.
Tensor expand(const Tensor& x, const Dims& shape, CallSite at = {});
/// squeeze() removes an axis of size 1; unsqueeze() inserts one before `axis`.
Tensor squeeze(const Tensor& x, int axis, CallSite at = {});
Tensor unsqueeze(const Tensor& x, int axis, CallSite at = {});
/// Splits x into parts of `size` along an axis; the last may be shorter. Throws Error for size < 1.
std::vector<Tensor> split(const Tensor& x, Size size, int axis, CallSite at = {});
/// Returns x if its elements are contiguous in row-major order, otherwise a copy in which they are.
Tensor contiguous(const Tensor& x, CallSite at = {});

namespace detail {
/// reshape() without recording an op, for kernels. The shape must have as many elements as x.
Tensor reshaped(const Tensor& x, const Dims& shape);
}  // namespace detail

}  // namespace tapestry
