// Cross-entropy with label smoothing and ignored targets over rows of logits. See rows.hpp.
//
// Forward goes over a long row in blocks that stay in L1: the block's maximum first, then Σ exp(x − running
// maximum), with what was summed before scaled when the maximum rises (Milakov and Gimelshein 2018, arXiv
// 1805.02867). So memory is read once each way and written once; the rest is exp. Short rows go through each
// of the steps together, as many as make a block, since one alone would wait at the end of each.
#include <cmath>

#include "core/simd/math.hpp"
#include "core/simd/row_loop.hpp"
#include "core/simd/rows.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

constexpr Size kBlock = 1024;

constexpr Size kMostTogether = 16;

template <class T>
double total(const T* x, Size n) {
  double sum = 0;
  for (Size start = 0; start < n; start += kBlock)
    sum += static_cast<double>(reduce_add(accumulate<T>(
        std::min(kBlock, n - start), T(0), [=](Size i, auto part) { return load(x + start + i, part); },
        AddBatches{})));
  return sum;
}

/// ln Σ exp of a row.
template <class T>
double long_row(const T* x, Size n) {
  T top = -kInfinity<T>;
  double sum = 0;
  for (Size start = 0; start < n; start += kBlock) {
    const Size width = std::min(kBlock, n - start);
    const T block_top = row_peak(x + start, width);
    if (block_top > top || block_top != block_top) {
      sum *= std::exp(static_cast<double>(top - block_top));
      top = block_top;
    }
    if (top != -kInfinity<T>)  // else all so far are −∞ and add nothing
      sum += static_cast<double>(sum_of_exp(x + start, width, top));
  }
  return std::isinf(top) ? static_cast<double>(top) : static_cast<double>(top) + std::log(sum);
}

/// The same of `count` rows from `first`.
template <class T>
void short_rows(Rows<const T> x, Size first, Size count, double* lse) {
  T top[kMostTogether], sum[kMostTogether];
  for (Size k = 0; k < count; ++k) top[k] = row_peak(x.row(first + k), x.columns);
  for (Size k = 0; k < count; ++k) sum[k] = sum_of_exp(x.row(first + k), x.columns, top[k]);
  sweep<T>(count,
           [&](Size k, auto part) { store(sum + k, log(load(static_cast<const T*>(sum) + k, part)), part); });
  for (Size k = 0; k < count; ++k) {
    lse[k] = static_cast<double>(top[k]);
    if (!std::isinf(top[k])) lse[k] += static_cast<double>(sum[k]);
  }
}

}  // namespace

template <class T>
void cross_entropy(T* loss, T* lse, Rows<const T> x, const Targets& targets) {
  const Size n = x.columns;
  const double spread = targets.smoothing / static_cast<double>(n);
  const Size together = std::clamp<Size>(kBlock / std::max<Size>(n, 1), 1, kMostTogether);
  parallel_ranges(x.rows, rows_per_chunk(n, 4), [&](Size begin, Size end) {
    double row_lse[kMostTogether];
    for (Size first = begin, count; first < end; first += count) {
      count = std::min(together, end - first);
      if (n > kBlock)
        row_lse[0] = long_row(x.row(first), n);
      else
        short_rows(x, first, count, row_lse);
      for (Size k = 0; k < count; ++k) {
        const Size r = first + k;
        const std::int64_t target = targets.ids[r];
        loss[r] = lse[r] = T(0);
        if (target == targets.ignore) continue;
        double value = row_lse[k] - (1 - targets.smoothing) * static_cast<double>(x.row(r)[target]);
        if (targets.smoothing != 0) value -= spread * total(x.row(r), n);
        loss[r] = static_cast<T>(value);
        lse[r] = static_cast<T>(row_lse[k]);
      }
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
