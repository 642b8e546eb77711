// Layer norm over rows, forward and backward. See rows.hpp.
//
// Forward reads a row three times (mean, variance, result), backward twice, all but the first from the L1 cache; the
// next rows are prefetched meanwhile. Forward spreads its prefetches over two passes, since many at once make its loads
// wait. Backward prefetches whole rows at once: spread out, its prefetches come too late and it takes up to twice as
// long. Several rows go through each pass together: they share the loads of weight and bias, and the long latencies at
// the ends of rows overlap. The sums for weight and bias are kept per group of rows and added in the order of the
// groups.
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/simd/horizontal.hpp"
#include "core/simd/rows/row_loop.hpp"
#include "core/simd/rows/rows.hpp"
#include "core/simd/runtime/memory.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

/// Number of rows that go through each pass together, limited by the number of registers.
constexpr Size kForwardRows = 4, kBackwardRows = 2;

/// Calls body(first, count) with a compile-time count of K if that many rows are left, else of 1.
template <Size K, class F>
void in_groups(Size begin, Size end, const F& body) {
  Size r = begin;
  for (; r + K <= end; r += K) body(r, std::integral_constant<Size, K>{});
  for (; r < end; ++r) body(r, std::integral_constant<Size, 1>{});
}

}  // namespace

namespace {

/// Computes Σ term(k, i, part) over a row, for `K` rows together, in two chains each.
template <Size K, class T, class Term>
void sums_of(Size n, T (&sums)[K], const Term& term) {
  constexpr Size kStep = kLanes<T>;
  Lanes<T> even[K], odd[K];
  for (Size k = 0; k < K; ++k) even[k] = odd[k] = Lanes<T>(T(0));
  Size i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep) {
#pragma GCC unroll 4
    for (Size k = 0; k < K; ++k) {
      even[k] += term(k, i, Whole{});
      odd[k] += term(k, i + kStep, Whole{});
    }
  }
  for (; i < n; i += kStep) {
    const Part rest{std::min(kStep, n - i)};
    for (Size k = 0; k < K; ++k) even[k] += term(k, i, rest);
  }
  for (Size k = 0; k < K; ++k) sums[k] = reduce_add(even[k] + odd[k]);
}

/// Inputs and outputs of forward.
template <class T>
struct Forward {
  Rows<T> y;
  T *mean, *inverse_std;
  Rows<const T> x;
  const T *weight, *bias;  // each may be null
  T epsilon;
};

/// Computes y = (x − mean)·s ⊙ weight + bias for `K` rows from `first`.
template <Size K, class T>
void forward_rows(const Forward<T>& f, Size first) {
  const Size n = f.x.columns;
  const Size next_x = K * f.x.stride, next_y = K * f.y.stride;  // from a row to its place in the next group
  const T *x[K], *const weight = f.weight, *const bias = f.bias;
  T* y[K];
  T mean[K], factor[K];
  for (Size k = 0; k < K; ++k) {
    x[k] = f.x.row(first + k);
    y[k] = f.y.row(first + k);
  }
  sums_of(n, mean, [&](Size k, Size i, auto part) { return load(x[k] + i, part); });
  for (Size k = 0; k < K; ++k) f.mean[first + k] = mean[k] /= static_cast<T>(n);
  sums_of(n, factor, [&](Size k, Size i, auto part) {
    const Lanes<T> d = load(x[k] + i, part, mean[k]) - mean[k];
    prefetch(x[k] + i + next_x);
    return d * d;
  });
  for (Size k = 0; k < K; ++k)
    f.inverse_std[first + k] = factor[k] = T(1) / std::sqrt(factor[k] / static_cast<T>(n) + f.epsilon);
  const auto normal = [&](Size k, Size i, auto part) { return (load(x[k] + i, part) - mean[k]) * factor[k]; };
  if (weight && bias)
    sweep<T>(n, [&](Size i, auto part) {
      const Lanes<T> scale = load(weight + i, part), shift = load(bias + i, part);
#pragma GCC unroll 4
      for (Size k = 0; k < K; ++k) {
        store(y[k] + i, fma(normal(k, i, part), scale, shift), part);
        prefetch(y[k] + i + next_y);
      }
    });
  else
    sweep<T>(n, [&](Size i, auto part) {
      for (Size k = 0; k < K; ++k) {
        Lanes<T> value = normal(k, i, part);
        if (weight) value = value * load(weight + i, part);
        if (bias) value = value + load(bias + i, part);
        store(y[k] + i, value, part);
        prefetch(y[k] + i + next_y);
      }
    });
}

}  // namespace

template <class T>
void layer_norm(Rows<T> y, T* mean, T* inverse_std, Rows<const T> x, const T* weight, const T* bias,
                T epsilon) {
  if (x.columns == 0) return;
  const Forward<T> all{y, mean, inverse_std, x, weight, bias, epsilon};
  parallel_ranges(x.rows, rows_per_chunk(x.columns, 2), [&](Size begin, Size end) {
    in_groups<kForwardRows>(begin, end, [&](Size first, auto count) { forward_rows<count()>(all, first); });
  });
}

namespace {

/// Inputs of backward, and dx.
template <class T>
struct Backward {
  Rows<T> dx;
  Rows<const T> dy, x;
  const T *mean, *inverse_std, *weight;  // weight may be null
};

/// Computes `K` rows from `first`. With x̂ = (x − mean)·s and g = dy ⊙ weight:
///     dx = s·(g − mean(g) − x̂·mean(g ⊙ x̂))        to_weight += dy ⊙ x̂        to_bias += dy
template <Size K, bool kWeight, class T>
void backward_rows(const Backward<T>& b, Size first, T* to_weight, T* to_bias) {
  const Size n = b.x.columns;
  const T *dy[K], *x[K], *const weight = b.weight;
  Lanes<T> mean[K], factor[K], sum[K], dot[K];  // Σ g and Σ g ⊙ (x − mean)
  for (Size k = 0; k < K; ++k) {
    dy[k] = b.dy.row(first + k);
    x[k] = b.x.row(first + k);
    mean[k] = Lanes<T>(b.mean[first + k]);
    factor[k] = Lanes<T>(b.inverse_std[first + k]);
    sum[k] = dot[k] = Lanes<T>(T(0));
  }
  const auto scale_at = [&](Size i, auto part) {
    Lanes<T> scale(T(1));
    if constexpr (kWeight) {
      scale = load(weight + i, part);
      keep_in_register(scale);
    }
    return scale;
  };
  sweep<T>(n, [&](Size i, auto part) {
    const Lanes<T> scale = scale_at(i, part);
    Lanes<T> for_weight = load(static_cast<const T*>(to_weight) + i, part);
    Lanes<T> for_bias = load(static_cast<const T*>(to_bias) + i, part);
#pragma GCC unroll 4
    for (Size k = 0; k < K; ++k) {
      Lanes<T> d = load(dy[k] + i, part);
      keep_in_register(d);
      const Lanes<T> centred = d * (load(x[k] + i, part) - mean[k]);
      for_weight = fma(centred, factor[k], for_weight);
      for_bias += d;
      sum[k] = kWeight ? fma(d, scale, sum[k]) : sum[k] + d;
      dot[k] = kWeight ? fma(centred, scale, dot[k]) : dot[k] + centred;
    }
    store(to_weight + i, for_weight, part);
    store(to_bias + i, for_bias, part);
  });
  if (!b.dx.data) return;
  T* to[K];
  for (Size k = 0; k < K; ++k) {
    prefetch_row(b.x, first + k, K);
    prefetch_row(b.dy, first + k, K);
    prefetch_row(b.dx, first + k, K);
  }

  Lanes<T> shift[K], slope[K];
  for (Size k = 0; k < K; ++k) {
    const T s = b.inverse_std[first + k], count = static_cast<T>(n);
    to[k] = b.dx.row(first + k);
    shift[k] = Lanes<T>(-s * (reduce_add(sum[k]) / count));
    slope[k] = Lanes<T>(-s * s * (s * reduce_add(dot[k]) / count));
  }
  sweep<T>(n, [&](Size i, auto part) {
    const Lanes<T> scale = scale_at(i, part);
#pragma GCC unroll 4
    for (Size k = 0; k < K; ++k) {
      Lanes<T> g = load(dy[k] + i, part);
      if constexpr (kWeight) g = g * scale;
      store(to[k] + i, fma(load(x[k] + i, part) - mean[k], slope[k], fma(g, factor[k], shift[k])), part);
    }
  });
}

}  // namespace

template <class T>
void layer_norm_backward(Rows<T> dx, T* dweight, T* dbias, Rows<const T> dy, Rows<const T> x, const T* mean,
                         const T* inverse_std, const T* weight) {
  constexpr Size kGroupElements = 16384, kMostGroups = 64;
  const Size n = x.columns, rows = x.rows;
  if (n == 0) return;
  // Each group of rows has separate sums (2n values). The groups depend on the shape alone, and so do the bits.
  const Size group = std::max({Size{16}, kGroupElements / n, chunks_for(rows, kMostGroups)});
  const Size groups = chunks_for(rows, group);
  std::vector<T, PoolAllocator<T>> partial(static_cast<std::size_t>(groups * 2 * n), T(0));
  const Backward<T> all{dx, dy, x, mean, inverse_std, weight};
  parallel_for(groups, [&](Size k) {
    T* const to_weight = &partial[static_cast<std::size_t>(k * 2 * n)];
    in_groups<kBackwardRows>(k * group, std::min((k + 1) * group, rows), [&](Size first, auto count) {
      if (weight)
        backward_rows<count(), true>(all, first, to_weight, to_weight + n);
      else
        backward_rows<count(), false>(all, first, to_weight, to_weight + n);
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
  gather(dweight, 0);
  gather(dbias, n);
}

#define TAPESTRY_INSTANTIATE(T)                                                                        \
  template void layer_norm(Rows<T>, T*, T*, Rows<const T>, const T*, const T*, T);                     \
  template void layer_norm_backward(Rows<T>, T*, T*, Rows<const T>, Rows<const T>, const T*, const T*, \
                                    const T*);
TAPESTRY_INSTANTIATE(float)
TAPESTRY_INSTANTIATE(double)
#undef TAPESTRY_INSTANTIATE

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
