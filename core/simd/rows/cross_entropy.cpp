// Cross-entropy with label smoothing and ignored targets over rows of logits, with its gradient. See
// rows.hpp.
//
//     logits ── top ── e = exp(x − top), Σ e ──── loss = top + ln Σ e − Σ q · x
//                      └ stays in the cache ───── dx   = scale · (e / Σ e − q)
//
// q is the target distribution: smoothing / n for each class, plus 1 − smoothing at the target.
//
// The gradient needs only values that forward has computed, so the same call writes it while the row is still in the
// cache. Each row is loaded from and stored to main memory once, and each exp is computed once. Up to 16 short rows,
// about kBlock elements, take each step together. This hides the latency of each row's final reduction.
#include <cmath>

#include "core/simd/horizontal.hpp"
#include "core/simd/math.hpp"
#include "core/simd/rows/row_loop.hpp"
#include "core/simd/rows/rows.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

constexpr Size kBlock = 1024;

constexpr Size kMostTogether = 16;

template <class T>
T sum_of(const T* x, Size n) {
  return reduce_add(accumulate<T>(
      n, T(0), [=](Size i, auto part) { return load(x + i, part); }, AddLanes{}));
}

}  // namespace

template <class T>
void cross_entropy(T* loss, Rows<T> dx, Rows<const T> x, const Targets& targets, T scale) {
  const Size n = x.columns;
  const double hit = 1 - targets.smoothing, spread = targets.smoothing / static_cast<double>(n);
  const Size together = std::clamp<Size>(kBlock / std::max<Size>(n, 1), 1, kMostTogether);
  parallel_ranges(x.rows, rows_per_chunk(n, 4), [&](Size begin, Size end) {
    T top[kMostTogether], sum[kMostTogether], log_sum[kMostTogether];
    for (Size first = begin, count; first < end; first += count) {
      count = std::min(together, end - first);
      for (Size k = 0; k < count; ++k) top[k] = row_peak(x.row(first + k), n);
      for (Size k = 0; k < count; ++k)
        sum[k] = dx.data ? keep_exp(dx.row(first + k), x.row(first + k), n, top[k], x.row(first + k + count))
                         : sum_of_exp(x.row(first + k), n, top[k]);
      sweep<T>(count, [&](Size k, auto part) {
        store(log_sum + k, log(load(static_cast<const T*>(sum) + k, part)), part);
      });
      for (Size k = 0; k < count; ++k) {
        const Size r = first + k;
        const std::int64_t target = targets.ids[r];
        if (target == targets.ignore) {
          loss[r] = T(0);
          if (dx.data) std::fill_n(dx.row(r), n, T(0));
          continue;
        }
        double value = static_cast<double>(top[k]) + static_cast<double>(log_sum[k]) -
                       hit * static_cast<double>(x.row(r)[target]);
        if (spread != 0) value -= spread * static_cast<double>(sum_of(x.row(r), n));
        loss[r] = static_cast<T>(value);
        if (!dx.data) continue;
        T* const to = dx.row(r);
        const Lanes<T> each = scale / sum[k], less = -scale * static_cast<T>(spread);
        sweep<T>(n, [=](Size i, auto part) { store(to + i, fma(load(to + i, part), each, less), part); });
        to[target] -= scale * static_cast<T>(hit);
      }
    }
  });
}

#define TAPESTRY_INSTANTIATE(T) template void cross_entropy(T*, Rows<T>, Rows<const T>, const Targets&, T);
TAPESTRY_INSTANTIATE(float)
TAPESTRY_INSTANTIATE(double)
#undef TAPESTRY_INSTANTIATE

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
