// Helpers of the row kernels: loops over one contiguous row, register by register with its tail, and the number of
// rows per chunk.
#pragma once

#include <algorithm>
#include <limits>

#include "core/simd/horizontal.hpp"
#include "core/simd/lanes.hpp"
#include "core/simd/loops.hpp"
#include "core/simd/math.hpp"
#include "core/simd/rows/rows.hpp"
#include "core/simd/runtime/memory.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// All lanes, or the first n lanes, of the register in one step of sweep().
struct Whole {};
struct Part {
  Size n;
};

template <class T>
inline Lanes<T> load(const T* from, Whole, std::type_identity_t<T> = T(0)) {
  return load(from);
}
template <class T>
inline Lanes<T> load(const T* from, Part part, std::type_identity_t<T> fill = T(0)) {
  return load_n(from, part.n, fill);
}
template <class T>
inline void store(T* to, Lanes<T> value, Whole) {
  store(to, value);
}
template <class T>
inline void store(T* to, Lanes<T> value, Part part) {
  store_n(to, value, part.n);
}
/// Calls step(i, Whole) for each register of a row of n values and step(i, Part) for the remaining values.
template <class T, class F>
inline void sweep(Size n, const F& step) {
  Size i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) step(i, Whole{});
  if (i < n) step(i, Part{n - i});
}

/// Reduces a row to one register, in four independent chains. term(i, part) returns the lanes at element i, with
/// `neutral` in missing lanes; join combines two registers.
template <class T, class Term, class Join>
inline Lanes<T> accumulate(Size n, T neutral, const Term& term, const Join& join) {
  constexpr Size kStep = kLanes<T>;
  Lanes<T> a(neutral), b = a, c = a, d = a;
  Size i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    a = join(a, term(i, Whole{}));
    b = join(b, term(i + kStep, Whole{}));
    c = join(c, term(i + 2 * kStep, Whole{}));
    d = join(d, term(i + 3 * kStep, Whole{}));
  }
  for (; i + kStep <= n; i += kStep) a = join(a, term(i, Whole{}));
  if (i < n) b = join(b, term(i, Part{n - i}));
  return join(join(a, b), join(c, d));
}

struct AddLanes {
  template <class B>
  B operator()(B a, B b) const {
    return a + b;
  }
};

template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// Returns the maximum of a row: −∞ if it is empty, NaN if it has one.
template <class T>
inline T row_max(const T* x, Size n) {
  return reduce_max(accumulate<T>(
      n, -kInfinity<T>, [x](Size i, auto part) { return load(x + i, part, -kInfinity<T>); },
      [](Lanes<T> a, Lanes<T> b) { return max_nan(a, b); }));
}

/// Faster row_max() that may miss a NaN. If no number in the row is above −∞, it misses none.
template <class T>
inline T row_peak(const T* x, Size n) {
  const T peak = reduce_max(accumulate<T>(
      n, -kInfinity<T>, [x](Size i, auto part) { return load(x + i, part, -kInfinity<T>); },
      [](Lanes<T> a, Lanes<T> b) { return max(a, b); }));
  return peak == -kInfinity<T> ? row_max(x, n) : peak;
}

/// Returns Σ exp(x − top) of n values.
template <class T>
inline T sum_of_exp(const T* x, Size n, T top) {
  return reduce_add(accumulate<T>(
      n, T(0), [=](Size i, auto part) { return exp_nonpositive(load(x + i, part, -kInfinity<T>) - top); },
      AddLanes{}));
}

/// Like sum_of_exp(), but stores each exp(x − top) in y, which may be x. Also prefetches the values at `next`, if
/// given, for rows so long that the processor does not prefetch the next one.
template <class T>
inline T keep_exp(T* y, const T* x, Size n, T top, const T* next = nullptr) {
  return reduce_add(accumulate<T>(
      n, T(0),
      [=](Size i, auto part) {
        if (next) prefetch(next + i);
        const Lanes<T> e = exp_nonpositive(load(x + i, part, -kInfinity<T>) - top);
        store(y + i, e, part);
        return e;
      },
      AddLanes{}));
}

/// Prefetches the row `ahead` rows after row r, which need not exist.
template <class T>
inline void prefetch_row(Rows<T> rows, Size r, Size ahead = 1) {
  const T* row = rows.row(r) + ahead * rows.stride;
  for (Size i = 0; i < rows.columns; i += kBlockAlignment / static_cast<Size>(sizeof(T))) prefetch(row + i);
}

/// Number of rows per chunk for work of `cost` cheap ops per element.
inline Size rows_per_chunk(Size columns, Size cost) {
  return std::max(Size{1}, kGrain / cost / std::max(Size{1}, columns));
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
