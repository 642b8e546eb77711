// Cross-entropy with label smoothing and ignored targets over rows of logits. See rows.hpp.
//
// Forward goes over a row in blocks that stay in L1: the block's maximum first, then Σ exp(x − running
// maximum), with what was summed before scaled when the maximum rises (Milakov and Gimelshein 2018, arXiv
// 1805.02867). So memory is read once each way and written once; the rest is exp.
#include <cmath>

#include "core/simd/math.hpp"
#include "core/simd/row_loop.hpp"
#include "core/simd/rows.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

constexpr Size kBlock = 1024;

/// ln Σ exp x, and Σ x where it is wanted.
template <class T>
struct RowSums {
  double lse, total;
};
template <class T>
RowSums<T> sums_of(const T* x, Size n, bool with_total) {
  T top = -kInfinity<T>;
  double sum = 0, total = 0;
  for (Size start = 0; start < n; start += kBlock) {
    const T* block = x + start;
    const Size width = std::min(kBlock, n - start);
    const T block_top = row_peak(block, width);
    if (block_top > top || block_top != block_top) {
      sum *= std::exp(static_cast<double>(top - block_top));
      top = block_top;
    }
    if (top != -kInfinity<T>)  // else all so far are −∞ and add nothing
      sum += static_cast<double>(reduce_add(accumulate<T>(
          width, T(0),
          [=](Size i, auto part) { return exp_nonpositive(load(block + i, part, -kInfinity<T>) - top); },
          AddBatches{})));
    if (with_total)
      total += static_cast<double>(reduce_add(accumulate<T>(
          width, T(0), [=](Size i, auto part) { return load(block + i, part); }, AddBatches{})));
  }
  return {std::isinf(top) ? static_cast<double>(top) : static_cast<double>(top) + std::log(sum), total};
}

}  // namespace

template <class T>
void cross_entropy(T* loss, T* lse, Rows<const T> x, const Targets& targets) {
  const Size n = x.columns;
  const double spread = targets.smoothing / static_cast<double>(n);
  parallel_ranges(x.rows, rows_per_chunk(n, 4), [&](Size begin, Size end) {
    for (Size r = begin; r < end; ++r) {
      const std::int64_t target = targets.ids[r];
      loss[r] = lse[r] = T(0);
      if (target == targets.ignore) continue;
      const auto [row_lse, total] = sums_of(x.row(r), n, targets.smoothing != 0);
      double value = row_lse - (1 - targets.smoothing) * static_cast<double>(x.row(r)[target]);
      if (targets.smoothing != 0) value -= spread * total;
      loss[r] = static_cast<T>(value);
      lse[r] = static_cast<T>(row_lse);
    }
  });
}

template <class T>
void cross_entropy_backward(Rows<T> dx, Rows<const T> x, const T* lse, const Targets& targets, const T* dloss,
                            Size dloss_stride, T scale) {
  const Size n = x.columns;
  const T spread = static_cast<T>(targets.smoothing / static_cast<double>(n));
  parallel_ranges(x.rows, rows_per_chunk(n, 4), [&](Size begin, Size end) {
    for (Size r = begin; r < end; ++r) {
      const std::int64_t target = targets.ids[r];
      T* to = dx.row(r);
      if (target == targets.ignore) {
        std::fill_n(to, n, T(0));
        continue;
      }
      const T* from = x.row(r);
      const T factor = dloss[r * dloss_stride] * scale, top = lse[r];
      sweep<T>(n, [=](Size i, auto part) {
        store(to + i, (exp_nonpositive(load(from + i, part) - top) - spread) * factor, part);
      });
      to[target] -= factor * static_cast<T>(1 - targets.smoothing);
    }
  });
}

#define TAPESTRY_INSTANTIATE(T)                                       \
  template void cross_entropy(T*, T*, Rows<const T>, const Targets&); \
  template void cross_entropy_backward(Rows<T>, Rows<const T>, const T*, const Targets&, const T*, Size, T);
TAPESTRY_INSTANTIATE(float)
TAPESTRY_INSTANTIATE(double)
#undef TAPESTRY_INSTANTIATE

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
