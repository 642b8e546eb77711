// Reductions over axes. An empty list of axes means all of them; reduced axes go, or stay with size 1 if
// asked.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// Whether reduced axes stay, with size 1.
enum class Keep { no, yes };

/// sum and mean over `axes` (none given: all of them). Throws Error where an axis is named twice, or is not
/// there.
Tensor sum(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
Tensor mean(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// max and min: the largest, the smallest element; equal ones share the gradient equally. An empty axis is an
/// error.
Tensor max(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
Tensor min(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// Mean squared distance from the mean, divided by n − correction (0: population, 1: sample).
Tensor var(const Tensor& x, const Dims& axes = {}, int correction = 0, Keep keep = Keep::no,
           CallSite at = {});
/// Sums the axes along which `shape` was broadcast to x's shape: the derivative of broadcasting.
Tensor sum_to(const Tensor& x, const Dims& shape, CallSite at = {});
/// Running sum along an axis.
Tensor cumsum(const Tensor& x, int axis, CallSite at = {});

/// Index of the largest element of the last axis (the first of equals).
Indices argmax(const Tensor& x);

namespace detail {

/// Which axes of a tensor go.
struct Reduction {
  Dims from;         // the tensor's shape
  Dims kept;         // the same with size 1 on the reduced axes
  Dims result;       // what the caller gets: kept, or without the reduced axes
  Size count;        // elements that each result stands for
  unsigned reduced;  // a bit for each reduced axis
};

/// Throws Error where `axes` (all, if empty) name one twice, or one that is not there. `op` is its caller's name.
Reduction reduction(const Tensor& x, const Dims& axes, Keep keep, const char* op, CallSite at);

/// y, one number for each reduction, as a view of the tensor that was reduced.
Tensor spread(const Tensor& y, const Reduction& r);

}  // namespace detail

}  // namespace tapestry
