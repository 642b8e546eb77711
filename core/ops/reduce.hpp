// Reductions over axes, and running sums. An empty list of axes means all axes. Reduced axes are removed, or kept
// with size 1 (Keep::yes).
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Removes reduced axes (no), or keeps them with size 1 (yes).
enum class Keep { no, yes };

/// Sum or mean over `axes`. Like all reductions, they throw Error for an axis that is repeated or out of range.
/// mean() also throws if there are no elements to average.
Tensor sum(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
Tensor mean(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// max and min return the largest and the smallest element. Equal ones share the gradient evenly. Both throw
/// Error for no elements.
Tensor max(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
Tensor min(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// Product of the elements; 1 for no elements. The derivative never divides by x, so x may contain zeros.
Tensor prod(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});
/// Variance: Σ (x − mean)² / (n − correction), with correction 0 for a population and 1 for a sample. Throws Error
/// unless n > correction.
Tensor var(const Tensor& x, const Dims& axes = {}, int correction = 0, Keep keep = Keep::no,
           CallSite at = {});
/// Reduces x to `shape` by summing over the axes that broadcasting `shape` to x's shape would repeat: the derivative
/// of broadcasting. Throws Error unless `shape` broadcasts to x's shape.
Tensor sum_to(const Tensor& x, const Dims& shape, CallSite at = {});
/// Cumulative sum along an axis: y[i] = x[0] + … + x[i].
Tensor cumsum(const Tensor& x, int axis, CallSite at = {});

/// argmax and argmin return the index of the largest and of the smallest element along an axis, and remove the axis:
/// x (…, n) → (…). Of equal elements, the first counts. If there is a NaN, both return the index of the first NaN, as
/// in PyTorch. Both throw Error if n is 0.
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

/// Expands y, the result of a reduction or its gradient, to the shape before the reduction, as a view.
Tensor spread(const Tensor& y, const Reduction& r);

}  // namespace detail

}  // namespace tapestry
