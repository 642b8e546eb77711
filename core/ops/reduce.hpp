// Reductions over axes, and running sums. An empty list of axes means all axes. Reduced axes are removed, or kept
// with size 1 (Keep::yes).
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Removes reduced axes (no), or keeps them with size 1 (yes).
enum class Keep { no, yes };

/// sum and mean over `axes` (all axes by default). Throws Error for an axis that is repeated or out of range, and
/// mean() for no elements.
Tensor sum(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
Tensor mean(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// max and min return the largest and the smallest element; equal elements share the gradient evenly. Throws Error for
/// no elements.
Tensor max(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
Tensor min(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// Product of the elements; 1 for no elements. The derivative is right for zeros, too: it never divides by x.
Tensor prod(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// Variance: Σ (x − mean)² / (n − correction), with correction 0 for a population and 1 for a sample. Throws Error
/// unless n > correction.
Tensor var(const Tensor& x, const Dims& axes = {}, int correction = 0, Keep keep = Keep::no,
           CallSite at = {});
/// Sums over the axes along which `shape` was broadcast to x's shape: the gradient of broadcasting.
Tensor sum_to(const Tensor& x, const Dims& shape, CallSite at = {});
/// Cumulative sum along an axis.
Tensor cumsum(const Tensor& x, int axis, CallSite at = {});

/// argmax and argmin return the index of the largest and of the smallest element along an axis, the first of equal
/// ones, and remove the axis: x (…, n) → (…). The first NaN counts as both, as in PyTorch. Throws Error if n is 0.
Indices argmax(const Tensor& x, int axis = -1);
Indices argmin(const Tensor& x, int axis = -1);

namespace detail {

/// Shapes and axes of a reduction.
struct Reduction {
  Dims from;         // shape of the tensor
  Dims kept;         // that shape with size 1 on the reduced axes
  Dims result;       // shape of the result: kept, or without the reduced axes
  Size count;        // number of elements reduced to each result
  unsigned reduced;  // one bit for each reduced axis
};

/// Resolves `axes` (all, if empty) for the op named `op`. Throws Error for an axis that is repeated or out of range.
Reduction reduction(const Tensor& x, const Dims& axes, Keep keep, const char* op, CallSite at);

/// Expands y, one number for each reduction, to the shape before the reduction: a view.
Tensor spread(const Tensor& y, const Reduction& r);

}  // namespace detail

}  // namespace tapestry
