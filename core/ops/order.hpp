// Ops that order the elements of an axis (topk, sort, argsort), and the conversion from a tensor to ids.
//
// All of them treat NaN as larger than every number, as PyTorch does, and keep equal elements in the order of their
// indices: the sort is stable, ascending or descending, and topk prefers the first of equal elements.
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Smallest first (ascending) or largest first (descending).
enum class SortOrder { ascending, descending };

/// Elements of a tensor in order, and their indices along the axis.
struct Ordered {
  /// Ordered elements, on the tape: the gradient flows to the elements that were selected.
  Tensor values;
  /// Index of each element of `values` along the axis; same shape.
  Indices indices;
};

/// Returns the k largest elements along an axis (k smallest with SortOrder::ascending), in order:
/// x (…, n) → (…, k). Throws Error unless 0 ≤ k ≤ n.
Ordered topk(const Tensor& x, Size k, int axis = -1, SortOrder order = SortOrder::descending,
             CallSite at = {});
/// sort returns all elements of an axis in order, argsort only their indices; both have x's shape.
Ordered sort(const Tensor& x, int axis = -1, SortOrder order = SortOrder::ascending, CallSite at = {});
Indices argsort(const Tensor& x, int axis = -1, SortOrder order = SortOrder::ascending);

/// Converts whole numbers to ids of the same shape. Throws Error, with the index, for NaN and for other elements that
/// are not whole numbers between −2^53 and 2^53; floor(x) or floor(x + 0.5) makes numbers whole.
Indices to_indices(const Tensor& x, CallSite at = {});

}  // namespace tapestry
