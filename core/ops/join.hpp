// Ops that join, pad and reverse tensors, and ops that look up elements by index.
#pragma once

#include <span>

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Joins tensors along an existing axis. Throws Error for an empty list, and unless all dtypes and other sizes agree.
Tensor concat(std::span<const Tensor> parts, int axis, CallSite at = {});
Tensor concat(std::initializer_list<Tensor> parts, int axis, CallSite at = {});
/// Joins tensors of equal shapes along a new axis.
Tensor stack(std::span<const Tensor> parts, int axis, CallSite at = {});
Tensor stack(std::initializer_list<Tensor> parts, int axis, CallSite at = {});
/// Pads an axis with `value`: `before` elements in front, `after` behind. Throws Error if either is negative.
Tensor pad(const Tensor& x, int axis, Size before, Size after, double value = 0, CallSite at = {});
/// Reverses the order of an axis.
Tensor flip(const Tensor& x, int axis, CallSite at = {});
/// Moves each element `shift` places along an axis (towards index 0 if negative); elements that leave one end enter
/// at the other.
Tensor roll(const Tensor& x, Size shift, int axis, CallSite at = {});

/// Looks up rows of a table: table (n, d…), ids (s…) → (s…, d…). Throws Error for ids outside 0 … n−1.
Tensor embedding(const Tensor& table, const Indices& ids, CallSite at = {});
/// Picks elements along `axis` by their ids: for axis 1, y[i, j, …] = x[i, ids[i, j, …], …]. On all other axes, ids
/// has x's sizes. Throws Error for ids outside the axis.
Tensor gather(const Tensor& x, int axis, const Indices& ids, CallSite at = {});
/// Returns a copy of x with `source` added at the elements that gather() would pick: for axis 1, y[i, ids[i, j, …],
/// …] += source[i, j, …]. Equal ids add up. `source` has the shape of ids. Throws like gather().
Tensor scatter_add(const Tensor& x, int axis, const Indices& ids, const Tensor& source, CallSite at = {});
/// Returns 1 at each id, 0 elsewhere: ids (s…) → (s…, classes). Throws Error for ids outside 0 … classes−1.
Tensor one_hot(const Indices& ids, Size classes, DType dtype = DType::f32, CallSite at = {});

}  // namespace tapestry
