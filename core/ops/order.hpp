// Ops that order the elements of an axis (topk, sort, argsort), and the conversion from a tensor to ids.
//
// NaN counts as larger than every number, as in PyTorch. Both sort orders are stable: equal elements stay in the order
// of their indices, and topk selects the first of them.
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Smallest first (ascending) or largest first (descending).
enum class SortOrder { ascending, descending };

/// Result of topk() and sort().
struct Ordered {
  /// The elements in order. Their gradient flows to the elements of x that were selected.
  Tensor values;
  /// Index of each element of `values` along the axis; same shape.
  Indices indices;
};

/// Returns the k largest elements along an axis (k smallest with SortOrder::ascending), in order:
/// x (…, n) → (…, k). Throws Error unless 0 ≤ k ≤ n.
Ordered topk(const Tensor& x, Size k, int axis = -1, SortOrder order = SortOrder::descending,
             CallSite at = {});
/// Elements along an axis in order (sort), or only their indices (argsort). The results have x's shape.
Ordered sort(const Tensor& x, int axis = -1, SortOrder order = SortOrder::ascending, CallSite at = {});
Indices argsort(const Tensor& x, int axis = -1, SortOrder order = SortOrder::ascending);

/// Converts whole numbers to ids of the same shape; call floor(x) or floor(x + 0.5) first to round. Throws Error,
/// with the index of the element, for anything but whole numbers from −2^53 to 2^53.
Indices to_indices(const Tensor& x, CallSite at = {});

}  // namespace tapestry
