// argmax over the last axis and cumulative sums along any axis. See reduce.hpp.
#include <algorithm>
#include <array>

#include "core/simd/loops.hpp"
#include "core/simd/rows/reduce.hpp"
#include "core/simd/rows/row_loop.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

/// Returns the index of the first maximum of n > 0 elements; NaN counts as the maximum.
template <class T>
Size first_largest(const T* x, Size n, Size stride) {
  if (stride == 1) {
    const T largest = row_max(x, n);
    const bool nan = largest != largest;
    Size i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) {
      const Lanes<T> lanes = load(x + i);
      if (any(nan ? is_nan(lanes) : lanes == Lanes<T>(largest))) break;
    }
    while (nan ? x[i] == x[i] : x[i] != largest) ++i;
    return i;
  }
  Size best = 0;
  for (Size i = 1; i < n; ++i) {
    const T value = x[i * stride], so_far = x[best * stride];
    if (value > so_far || (value != value && so_far == so_far)) best = i;
  }
  return best;
}

}  // namespace

template <class T>
void argmax(const View<std::int64_t>& out, const View<const T>& in) {
  const int last = in.shape.rank() - 1;
  const Size n = in.shape[last];
  parallel_ranges(out.shape.count(), std::max(Size{1}, kGrain / std::max(Size{1}, n)),
                  [&](Size begin, Size end) {
                    for (Size row = begin; row < end; ++row) {
                      Size from = 0, to = 0, index = row;
                      for (int axis = last - 1; axis >= 0; --axis) {
                        const Size i = index % in.shape[axis];
                        index /= in.shape[axis];
                        from += i * in.stride[axis];
                        to += i * out.stride[axis];
                      }
                      out.data[to] = first_largest(in.data + from, n, in.stride[last]);
                    }
                  });
}

template <class T>
void cumsum(const View<T>& out, const View<const T>& in, int axis, bool reverse) {
  constexpr Size kColumns = 64;  // cumulative sums that run together
  const Size n = in.shape[axis];
  if (n == 0) return;
  Dims others = in.shape;
  others[axis] = 1;
  const auto loop = make_strided_loop<2>(others, {&out.stride, &in.stride});
  const Size out_step = out.stride[axis], in_step = in.stride[axis];
  // Along the last axis each sum reads its own row. A few rows hide the latency of an addition; many rows a power
  // of two apart would evict each other from the cache.
  const Size together = out_step == 1 && in_step == 1 ? 8 : kColumns;
  for_each_tile(loop, 1, together, std::max(Size{1}, kGrain / n),
                [&](const std::array<Size, 2>& offsets, Size row, Size, Size column, Size columns) {
                  const Size to_column = loop.column_stride(0), from_column = loop.column_stride(1);
                  T* to = out.data + offsets[0] + row * loop.row_stride(0) + column * to_column;
                  const T* from = in.data + offsets[1] + row * loop.row_stride(1) + column * from_column;
                  double sum[kColumns] = {};
                  for (Size step = 0; step < n; ++step) {
                    const Size k = reverse ? n - 1 - step : step;
                    for (Size c = 0; c < columns; ++c) {
                      sum[c] += static_cast<double>(from[k * in_step + c * from_column]);
                      to[k * out_step + c * to_column] = static_cast<T>(sum[c]);
                    }
                  }
                });
}

template void argmax<float>(const View<std::int64_t>&, const View<const float>&);
template void argmax<double>(const View<std::int64_t>&, const View<const double>&);
template void cumsum<float>(const View<float>&, const View<const float>&, int, bool);
template void cumsum<double>(const View<double>&, const View<const double>&, int, bool);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
