#include "core/ops/order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/index.hpp"

namespace tapestry {

namespace {

/// Returns true if a comes before b in ascending order, where NaN is the largest.
template <class T>
bool is_before(T a, T b) {
  return a < b || (b != b && a == a);
}

/// Returns the indices of the first k elements of each row along `axis`, in order.
Indices ordered(const Tensor& x, int axis, Size k, SortOrder order) {
  const Size n = x.shape()[axis], inner = x.shape().count(axis + 1, x.rank());
  Dims shape = x.shape();
  shape[axis] = k;
  std::vector<std::int64_t> ids(static_cast<std::size_t>(shape.count()));
  const Tensor source = contiguous(x.detach());
  const Size rows = n == 0 ? 0 : x.count() / n;
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = source.data<T>();
    simd::parallel_ranges(rows, std::max<Size>(1, 1024 / std::max<Size>(1, n)), [&](Size begin, Size end) {
      std::vector<T> row(static_cast<std::size_t>(n));
      std::vector<std::int64_t> places(row.size());
      for (Size r = begin; r < end; ++r) {
        const Size outer = r / inner, column = r % inner;
        for (Size j = 0; j < n; ++j)
          row[static_cast<std::size_t>(j)] = from[(outer * n + j) * inner + column];
        std::iota(places.begin(), places.end(), std::int64_t{0});
        // Equal elements are ordered by their indices, so the order is total and the algorithm does not matter.
        const auto before = [&](std::int64_t a, std::int64_t b) {
          const T x_a = row[static_cast<std::size_t>(a)], x_b = row[static_cast<std::size_t>(b)];
          const bool first = order == SortOrder::ascending ? is_before(x_a, x_b) : is_before(x_b, x_a);
          if (first) return true;
          const bool second = order == SortOrder::ascending ? is_before(x_b, x_a) : is_before(x_a, x_b);
          return !second && a < b;
        };
        if (k < n) std::nth_element(places.begin(), places.begin() + k, places.end(), before);
        std::sort(places.begin(), places.begin() + k, before);
        for (Size j = 0; j < k; ++j)
          ids[static_cast<std::size_t>((outer * k + j) * inner + column)] =
              places[static_cast<std::size_t>(j)];
      }
    });
  });
  return Indices(ids, shape);
}

}  // namespace

// values = x[indices]        ∂x by gather's rule
Ordered topk(const Tensor& x, Size k, int axis, SortOrder order, CallSite at) {
  const int a = axis_of(x, axis);
  if (k < 0 || k > x.shape()[a])
    fail("[topk] k must be at least 0 and at most the size of axis {} of {}, got {} ({}:{})", axis,
         describe(x), k, at.file, at.line);
  const Indices indices = ordered(x, a, k, order);
  return {gather(x, a, indices, at), indices};
}

Ordered sort(const Tensor& x, int axis, SortOrder order, CallSite at) {
  const int a = axis_of(x, axis);
  const Indices indices = ordered(x, a, x.shape()[a], order);
  return {gather(x, a, indices, at), indices};
}

Indices argsort(const Tensor& x, int axis, SortOrder order) {
  const int a = axis_of(x, axis);
  return ordered(x, a, x.shape()[a], order);
}

Indices to_indices(const Tensor& x, CallSite at) {
  constexpr double kLimit = 9007199254740992;  // 2^53: a double holds every whole number up to it
  const std::vector<double> values = x.to_vector();
  std::vector<std::int64_t> ids(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    if (!(std::abs(value) <= kLimit) || value != std::trunc(value))
      fail(
          "[to_indices] element {} at index {} of {} must be a whole number of at most 2^53; use floor() ({}:{})",
          value, to_string(index_of(static_cast<Size>(i), x.shape())), describe(x), at.file, at.line);
    ids[i] = static_cast<std::int64_t>(value);
  }
  return Indices(ids, x.shape());
}

}  // namespace tapestry
