// Views: the same values under another shape, without a copy. Their gradients are views, too.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// The same elements in row-major order under another shape; one size may be -1 and follows from the others.
/// A view where strides allow it, else a copy.
Tensor reshape(const Tensor& x, const Dims& shape, CallSite at = {});
/// Axis i of the result is axis order[i] of x.
Tensor permute(const Tensor& x, const Dims& order, CallSite at = {});
/// Two axes exchanged.
Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1, CallSite at = {});
/// Elements begin, begin + step, … below end of an axis; negative begin and end count from the back;
/// step ≥ 1.
Tensor slice(const Tensor& x, int axis, Size begin, Size end, Size step = 1, CallSite at = {});
/// One place of an axis; the axis goes.
Tensor select(const Tensor& x, int axis, Size index, CallSite at = {});
/// Repeats axes of size 1, and adds axes in front, up to `shape`.
Tensor expand(const Tensor& x, const Dims& shape, CallSite at = {});
/// squeeze takes out an axis of size 1, unsqueeze puts one in before `axis`.
Tensor squeeze(const Tensor& x, int axis, CallSite at = {});
Tensor unsqueeze(const Tensor& x, int axis, CallSite at = {});
/// Parts of `size` along an axis; the last may be shorter.
std::vector<Tensor> split(const Tensor& x, Size size, int axis, CallSite at = {});
/// A dense tensor with x's values; x itself if it is dense already.
Tensor contiguous(const Tensor& x, CallSite at = {});

namespace detail {
/// reshape() on no tape, for kernels; the shape has as many elements as x.
Tensor reshaped(const Tensor& x, const Dims& shape);
}  // namespace detail

}  // namespace tapestry
