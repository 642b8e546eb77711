// Putting tensors together, and moving their elements about.
#pragma once

#include <span>

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// Joins along an axis that all have; other sizes must agree.
Tensor concat(std::span<const Tensor> parts, int axis, CallSite at = {});
Tensor concat(std::initializer_list<Tensor> parts, int axis, CallSite at = {});
/// Along a new axis.
Tensor stack(std::span<const Tensor> parts, int axis, CallSite at = {});
Tensor stack(std::initializer_list<Tensor> parts, int axis, CallSite at = {});
/// `before` and `after` elements of `value` on an axis.
Tensor pad(const Tensor& x, int axis, Size before, Size after, double value = 0, CallSite at = {});
/// The order of an axis reversed.
Tensor flip(const Tensor& x, int axis, CallSite at = {});

/// Rows of a table: table (n, …), ids of any shape S → S + (…). Ids outside 0 … n−1 throw, naming the place.
Tensor embedding(const Tensor& table, const Indices& ids, CallSite at = {});
/// y[i, j, …] = x[i, ids[i, j], …] with the axis named: ids has x's rank; the other sizes agree.
Tensor gather(const Tensor& x, int axis, const Indices& ids, CallSite at = {});
/// A copy of x with source[i, j] added at x[i, ids[i, j]] along the axis; equal ids add up.
Tensor scatter_add(const Tensor& x, int axis, const Indices& ids, const Tensor& source, CallSite at = {});
/// ids of shape S → S + (classes), 1 at the id, 0 elsewhere.
Tensor one_hot(const Indices& ids, Size classes, DType dtype = DType::f32, CallSite at = {});

}  // namespace tapestry
