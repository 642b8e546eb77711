// Reductions over axes. An empty list of axes means all of them; reduced axes go, or stay with size 1 if
// asked.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// Whether reduced axes stay, with size 1.
enum class Keep { no, yes };

Tensor sum(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
Tensor mean(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// The largest (smallest) element; equal ones share the gradient equally. An empty axis is an error.
Tensor max(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
Tensor min(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// Mean squared distance from the mean, divided by n − correction (0: population, 1: sample).
Tensor var(const Tensor& x, const Dims& axes = {}, int correction = 0, Keep keep = Keep::no,
           CallSite at = {});
/// log Σ eˣ, without overflow; −inf where all are −inf.
Tensor logsumexp(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// Sums the axes along which `shape` was broadcast to x's shape: the derivative of broadcasting.
Tensor sum_to(const Tensor& x, const Dims& shape, CallSite at = {});
/// Running sum along an axis.
Tensor cumulative_sum(const Tensor& x, int axis, CallSite at = {});

/// Index of the largest element of the last axis (the first of equals).
Indices argmax(const Tensor& x);

}  // namespace tapestry
