// Ops that join, pad and reverse tensors, and ops that look up elements by index.
#pragma once

#include <span>

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Joins at least one tensor along an existing axis. All other sizes and the dtypes must be equal.
Tensor concat(std::span<const Tensor> parts, int axis, CallSite at = {});
Tensor concat(std::initializer_list<Tensor> parts, int axis, CallSite at = {});
/// Joins tensors of equal shapes along a new axis.
Tensor stack(std::span<const Tensor> parts, int axis, CallSite at = {});
Tensor stack(std::initializer_list<Tensor> parts, int axis, CallSite at = {});
/// Adds `before` and `after` elements of `value` at the two ends of an axis. Negative numbers throw Error.
Tensor pad(const Tensor& x, int axis, Size before, Size after, double value = 0, CallSite at = {});
/// Reverses the order of an axis.
Tensor flip(const Tensor& x, int axis, CallSite at = {});
/// Moves each element `shift` places along an axis (towards index 0 if negative); elements that leave one end enter
/// at the other.
Tensor roll(const Tensor& x, Size shift, int axis, CallSite at = {});

/// Looks up rows of a table: table (n, …), ids of any shape S → S + (…). Throws Error for ids outside 0 … n−1.
Tensor embedding(const Tensor& table, const Indices& ids, CallSite at = {});
/// y[i, j, …] = x[i, ids[i, j], …] along `axis`: ids has x's rank and its other sizes. Throws Error for ids outside
/// the axis.
Tensor gather(const Tensor& x, int axis, const Indices& ids, CallSite at = {});
/// Returns a copy of x with source[i, j] added at x[i, ids[i, j]] along the axis; equal ids add up. `source` has the
/// shape of ids.
Tensor scatter_add(const Tensor& x, int axis, const Indices& ids, const Tensor& source, CallSite at = {});
/// ids of shape S → S + (classes): 1 at the id, 0 elsewhere. Throws Error for ids outside 0 … classes−1.
Tensor one_hot(const Indices& ids, Size classes, DType dtype = DType::f32, CallSite at = {});

}  // namespace tapestry
