// Softmax, masked softmax, log-softmax and log-sum-exp over rows, with the derivatives. See rows.hpp.
//
// A row is read for its maximum, then for exp(x − max) and its sum, and then scaled. All reads but the first come from
// the cache.
#include <cmath>
#include <vector>

#include "core/simd/horizontal.hpp"
#include "core/simd/math.hpp"
#include "core/simd/rows/row_loop.hpp"
#include "core/simd/rows/rows.hpp"
#include "core/simd/runtime/memory.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

template <class F>
void each_row(Size rows, Size columns, Size cost, const F& body) {
  if (columns == 0) return;
  parallel_ranges(rows, rows_per_chunk(columns, cost), [&](Size begin, Size end) {
    for (Size r = begin; r < end; ++r) body(r);
  });
}

template <class T>
void scale_row(T* y, Size n, T factor) {
  sweep<T>(n, [=](Size i, auto part) { store(y + i, load(y + i, part) * factor, part); });
}

}  // namespace

template <class T>
void softmax(Rows<T> y, Rows<const T> x) {
  const Size n = x.columns;
  each_row(x.rows, n, 4, [&](Size r) {
    const T sum = keep_exp(y.row(r), x.row(r), n, row_peak(x.row(r), n));
    scale_row(y.row(r), n, T(1) / sum);
  });
}

template <class T>
void masked_softmax(Rows<T> y, Rows<const T> x, const View<const bool>& mask) {
  const Size n = x.columns;
  const int last = mask.shape.rank() - 1;
  const Size step = last >= 0 ? mask.stride[last] : 0;
  if (n == 0) return;
  parallel_ranges(x.rows, rows_per_chunk(n, 4), [&](Size begin, Size end) {
    // The mask's row as 1 and 0 in T; consecutive rows that share it (heads, queries) expand it once.
    std::vector<T, PoolAllocator<T>> expanded(static_cast<std::size_t>(n));
    T* const keep = expanded.data();
    const unsigned char* expanded_from = nullptr;
    for (Size r = begin; r < end; ++r) {
      const auto* may = reinterpret_cast<const unsigned char*>(mask.data);  // GCC does not vectorise bools
      Size index = r;
      for (int axis = last - 1; axis >= 0; --axis) {
        may += index % mask.shape[axis] * mask.stride[axis];
        index /= mask.shape[axis];
      }
      if (may != expanded_from) {
        if (step == 1)
          for (Size i = 0; i < n; ++i) keep[i] = static_cast<T>(may[i]);
        else
          for (Size i = 0; i < n; ++i) keep[i] = static_cast<T>(may[i * step]);
        expanded_from = may;
      }
      const T* from = x.row(r);
      T* to = y.row(r);
      const auto where_kept = [=](Size i, auto part, Lanes<T> value, T otherwise) {
        return select(load(static_cast<const T*>(keep) + i, part) > Lanes<T>(T(0)), value, otherwise);
      };
      const T top = reduce_max(accumulate<T>(
          n, -kInfinity<T>,
          [=](Size i, auto part) { return where_kept(i, part, load(from + i, part), -kInfinity<T>); },
          [](Lanes<T> a, Lanes<T> b) { return max_nan(a, b); }));
      if (top == -kInfinity<T>) {
        std::fill_n(to, n, T(0));
        continue;
      }
      const T sum = reduce_add(accumulate<T>(
          n, T(0),
          [=](Size i, auto part) {
            const Lanes<T> e = where_kept(i, part, exp_nonpositive(load(from + i, part) - top), T(0));
            store(to + i, e, part);
            return e;
          },
          AddLanes{}));
      const T factor = T(1) / sum;
      if (factor == factor) {
        scale_row(to, n, factor);
        continue;
      }
      sweep<T>(n, [=](Size i, auto part) {
        store(to + i, where_kept(i, part, Lanes<T>(factor), T(0)), part);  // an unmasked x is NaN or +∞
      });
    }
  });
}

template <class T>
void softmax_backward(Rows<T> dx, Rows<const T> y, Rows<const T> dy) {
  const Size n = y.columns;
  each_row(y.rows, n, 1, [&](Size r) {
    const T *weight = y.row(r), *from = dy.row(r);
    T* to = dx.row(r);
    // Where the weight is 0 (masked), dy counts as 0, even if it is NaN.
    const auto product = [=](Size i, auto part) {
      const Lanes<T> w = load(weight + i, part);
      return select(w == Lanes<T>(T(0)), T(0), w * load(from + i, part));
    };
    const T dot = reduce_add(accumulate<T>(n, T(0), product, AddLanes{}));
    sweep<T>(n, [=](Size i, auto part) {
      const Lanes<T> w = load(weight + i, part);
      store(to + i, select(w == Lanes<T>(T(0)), T(0), w * (load(from + i, part) - dot)), part);
    });
  });
}

template <class T>
void log_softmax(Rows<T> y, Rows<const T> x) {
  const Size n = x.columns;
  each_row(x.rows, n, 4, [&](Size r) {
    const T* from = x.row(r);
    T* to = y.row(r);
    const T top = row_peak(from, n);
    const T log_sum = std::log(sum_of_exp(from, n, top));
    sweep<T>(n, [=](Size i, auto part) { store(to + i, (load(from + i, part) - top) - log_sum, part); });
  });
}

template <class T>
void log_softmax_backward(Rows<T> dx, Rows<const T> y, Rows<const T> dy) {
  const Size n = y.columns;
  each_row(y.rows, n, 4, [&](Size r) {
    const T *value = y.row(r), *from = dy.row(r);
    T* to = dx.row(r);
    const T sum = reduce_add(accumulate<T>(
        n, T(0), [=](Size i, auto part) { return load(from + i, part); }, AddLanes{}));
    sweep<T>(n, [=](Size i, auto part) {
      store(to + i, fma(exp_nonpositive(load(value + i, part)), Lanes<T>(-sum), load(from + i, part)), part);
    });
  });
}

template <class T>
void logsumexp(T* out, Rows<const T> x) {
  if (x.columns == 0) {
    std::fill_n(out, x.rows, -kInfinity<T>);
    return;
  }
  each_row(x.rows, x.columns, 4, [&](Size r) {
    const T top = row_max(x.row(r), x.columns);
    // An infinite maximum is the result (∞ − ∞ would be NaN); NaN is kept.
    out[r] = std::isinf(top) ? top : top + std::log(sum_of_exp(x.row(r), x.columns, top));
  });
}

#define TAPESTRY_INSTANTIATE(T)                                                  \
  template void softmax(Rows<T>, Rows<const T>);                                 \
  template void masked_softmax(Rows<T>, Rows<const T>, const View<const bool>&); \
  template void softmax_backward(Rows<T>, Rows<const T>, Rows<const T>);         \
  template void log_softmax(Rows<T>, Rows<const T>);                             \
  template void log_softmax_backward(Rows<T>, Rows<const T>, Rows<const T>);     \
  template void logsumexp(T*, Rows<const T>);
TAPESTRY_INSTANTIATE(float)
TAPESTRY_INSTANTIATE(double)
#undef TAPESTRY_INSTANTIATE

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
