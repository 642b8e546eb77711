// Layer norm over rows, forward and backward. See rows.hpp.
//
// Forward reads a row three times (mean, variance, result), backward twice, all but once from the L1 cache;
// the sums for gamma and beta are kept per group of rows and added in the order of the groups.
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/simd/memory.hpp"
#include "core/simd/row_loop.hpp"
#include "core/simd/rows.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

/// Rows that go through each pass together: the long latencies at a row's end overlap, and the column sums
/// are loaded once for all of them.
constexpr Size kTogether = 4;

/// Calls body(first, count) with a compile-time count of kTogether where that many rows are left, else of 1.
template <class F>
void in_groups(Size begin, Size end, const F& body) {
  Size r = begin;
  for (; r + kTogether <= end; r += kTogether) body(r, std::integral_constant<Size, kTogether>{});
  for (; r < end; ++r) body(r, std::integral_constant<Size, 1>{});
}

}  // namespace

template <class T>
void layer_norm(Rows<T> y, T* mean, T* inverse_std, Rows<const T> x, const T* gamma, const T* beta,
                T epsilon) {
  const Size n = x.columns;
  if (n == 0) return;
  parallel_ranges(x.rows, rows_per_chunk(n, 2), [&](Size begin, Size end) {
    in_groups(begin, end, [&](Size first, auto count) {
      for (Size r = first; r < first + count; ++r) {
        const T* from = x.row(r);
        mean[r] = reduce_add(accumulate<T>(
                      n, T(0), [=](Size i, auto part) { return load(from + i, part); }, AddBatches{})) /
                  static_cast<T>(n);
      }
      for (Size r = first; r < first + count; ++r) {
        const T* from = x.row(r);
        const T centre = mean[r];
        const T squares = reduce_add(accumulate<T>(
            n, T(0),
            [=](Size i, auto part) {
              const Batch<T> d = load(from + i, part, centre) - centre;
              return d * d;
            },
            AddBatches{}));
        inverse_std[r] = T(1) / std::sqrt(squares / static_cast<T>(n) + epsilon);
      }
      for (Size r = first; r < first + count; ++r) {
        const T* from = x.row(r);
        T* to = y.row(r);
        const T centre = mean[r], factor = inverse_std[r];
        const auto normal = [=](Size i, auto part) { return (load(from + i, part) - centre) * factor; };
        if (gamma && beta)
          sweep<T>(n, [=](Size i, auto part) {
            store(to + i, fma(normal(i, part), load(gamma + i, part), load(beta + i, part)), part);
          });
        else
          sweep<T>(n, [=](Size i, auto part) {
            Batch<T> value = normal(i, part);
            if (gamma) value = value * load(gamma + i, part);
            if (beta) value = value + load(beta + i, part);
            store(to + i, value, part);
          });
      }
    });
  });
}

namespace {

/// What backward is given, and what it writes.
template <class T>
struct Backward {
  Rows<T> dx;
  Rows<const T> dy, x;
  const T *mean, *inverse_std, *gamma;  // gamma or null
};

/// `K` rows from `first`. With x̂ = (x − mean)·s and g = dy ⊙ gamma:
///     dx = s·(g − mean(g) − x̂·mean(g ⊙ x̂))        to_gamma += dy ⊙ x̂        to_beta += dy
template <Size K, bool kGamma, class T>
void backward_rows(const Backward<T>& b, Size first, T* to_gamma, T* to_beta) {
  const Size n = b.x.columns;
  const T *dy[K], *x[K], *const gamma = b.gamma;
  T mean[K], factor[K];
  Batch<T> sum[K], dot[K];
  for (Size k = 0; k < K; ++k) {
    dy[k] = b.dy.row(first + k);
    x[k] = b.x.row(first + k);
    mean[k] = b.mean[first + k];
    factor[k] = b.inverse_std[first + k];
    sum[k] = dot[k] = Batch<T>(T(0));
  }
  sweep<T>(n, [&](Size i, auto part) {
    Batch<T> weight, for_gamma = load(static_cast<const T*>(to_gamma) + i, part);
    Batch<T> for_beta = load(static_cast<const T*>(to_beta) + i, part);
    if constexpr (kGamma) weight = load(gamma + i, part);
    for (Size k = 0; k < K; ++k) {
      const Batch<T> d = load(dy[k] + i, part), normal = (load(x[k] + i, part) - mean[k]) * factor[k];
      for_gamma = fma(d, normal, for_gamma);
      for_beta += d;
      Batch<T> g = d;
      if constexpr (kGamma) g = d * weight;
      sum[k] += g;
      dot[k] = fma(g, normal, dot[k]);
    }
    store(to_gamma + i, for_gamma, part);
    store(to_beta + i, for_beta, part);
  });
  if (!b.dx.data) return;
  for (Size k = 0; k < K; ++k) {
    const T mean_g = reduce_add(sum[k]) / static_cast<T>(n), mean_gx = reduce_add(dot[k]) / static_cast<T>(n);
    const T s = factor[k], centre = mean[k], shift = -s * mean_g, slope = -s * s * mean_gx;
    const T *from = dy[k], *at = x[k];
    T* to = b.dx.row(first + k);
    sweep<T>(n, [=](Size i, auto part) {
      Batch<T> g = load(from + i, part);
      if constexpr (kGamma) g = g * load(gamma + i, part);
      store(to + i, fma(load(at + i, part) - centre, Batch<T>(slope), fma(g, Batch<T>(s), Batch<T>(shift))),
            part);
    });
  }
}

}  // namespace

template <class T>
void layer_norm_backward(Rows<T> dx, T* dgamma, T* dbeta, Rows<const T> dy, Rows<const T> x, const T* mean,
                         const T* inverse_std, const T* gamma) {
  constexpr Size kMostGroups = 64;
  const Size n = x.columns, rows = x.rows;
  if (n == 0) return;
  // Each group of rows has its own sums (2n values); the groups follow from the shape.
  const Size group = std::max(std::max(Size{16}, rows_per_chunk(n, 2)), chunks_for(rows, kMostGroups));
  const Size groups = chunks_for(rows, group);
  std::vector<T, PoolAllocator<T>> partial(static_cast<std::size_t>(groups * 2 * n), T(0));
  const Backward<T> all{dx, dy, x, mean, inverse_std, gamma};
  parallel_ranges(rows, group, [&](Size begin, Size end) {
    T* const to_gamma = &partial[static_cast<std::size_t>(begin / group * 2 * n)];
    in_groups(begin, end, [&](Size first, auto count) {
      if (gamma)
        backward_rows<count(), true>(all, first, to_gamma, to_gamma + n);
      else
        backward_rows<count(), false>(all, first, to_gamma, to_gamma + n);
    });
  });
  const auto gather = [&](T* out, Size offset) {
    if (!out) return;
    std::fill_n(out, n, T(0));
    for (Size k = 0; k < groups; ++k) {
      const T* from = &partial[static_cast<std::size_t>(k * 2 * n + offset)];
      for (Size i = 0; i < n; ++i) out[i] += from[i];
    }
  };
  gather(dgamma, 0);
  gather(dbeta, n);
}

#define TAPESTRY_INSTANTIATE(T)                                                                        \
  template void layer_norm(Rows<T>, T*, T*, Rows<const T>, const T*, const T*, T);                     \
  template void layer_norm_backward(Rows<T>, T*, T*, Rows<const T>, Rows<const T>, const T*, const T*, \
                                    const T*);
TAPESTRY_INSTANTIATE(float)
TAPESTRY_INSTANTIATE(double)
#undef TAPESTRY_INSTANTIATE

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
