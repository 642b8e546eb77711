// Element-wise kernels: map with any functor, and copy, fill, convert, comparisons and select.
//
// A functor takes Lanes<T> values and is inlined into a single loop. Cheap functors are limited by memory bandwidth,
// exp and similar ones by arithmetic. Both run in parallel if the work takes more than a few microseconds.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/simd/lanes.hpp"
#include "core/simd/loops.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace internal {

/// The loop that calls a functor. It is not inlined, so that all callers compute a value with the same instructions.
template <class F, class T, class... In>
[[gnu::noinline]] void run_map(const F& f, Size n, T* out, const In*... in) {
  constexpr Size kStep = kLanes<T>;
  const F function = f;  // a local copy, which stores to out cannot change
  Size i = 0;
  for (; i + kStep <= n; i += kStep) store(out + i, Lanes<T>(function(load(in + i)...)));
  const Size rest = n - i;
  if (rest == 0) return;
  // Broadcasting a single value to all lanes is faster than a partial load.
  store_n(out + i, Lanes<T>(function((rest == 1 ? Lanes<T>(in[i]) : load_n(in + i, rest))...)), rest);
}

/// Cost of a functor relative to an addition: its kCost, or 1.
template <class F>
constexpr Size cost_of() {
  if constexpr (requires { F::kCost; })
    return F::kCost;
  else
    return 1;
}

}  // namespace internal

/// Computes out[i] = f(in0[i], in1[i], …), where f takes and returns Lanes<T>. All views have out's shape, with
/// stride 0 along broadcast axes. An input may be out itself. A functor may declare its cost relative to an
/// addition as `static constexpr Size kCost`.
template <class T, class F, class... In>
void map(const F& f, const View<T>& out, const View<In>&... in) {
  static_assert((std::is_same_v<std::remove_const_t<In>, T> && ...));
  for_each_run(
      kGrain / internal::cost_of<F>(),
      [&f](Size n, T* to, const auto*... from) { internal::run_map<F, T>(f, n, to, from...); }, out, in...);
}

/// Overload for `count` contiguous elements, the most common case. It is faster to call.
template <class T, class F, class... In>
void map(const F& f, Size count, T* out, const In*... in) {
  for_each_run(
      kGrain / internal::cost_of<F>(),
      [&f](Size n, T* to, const auto*... from) { internal::run_map<F, T>(f, n, to, from...); }, count, out,
      in...);
}

/// out[i] = value.
template <class T>
void fill(const View<T>& out, std::type_identity_t<T> value);

/// out[i] = in[i] for any strides; transposed views are copied in tiles. T: float, double, std::int64_t, bool. The
/// views must not overlap.
template <class T>
void copy(const View<T>& out, const View<const std::type_identity_t<T>>& in);

/// out[i] = in[i], converted to the other type (float to double; double to float, rounded to nearest).
template <class To, class From>
void convert(const View<To>& out, const View<const From>& in);

/// out[i] = condition[i] ? yes[i] : no[i].
template <class T>
void select(const View<T>& out, const View<const bool>& condition,
            const View<const std::type_identity_t<T>>& yes, const View<const std::type_identity_t<T>>& no);

/// out[i] = a[i] < b[i], a[i] ≤ b[i] or a[i] = b[i]; false where either is NaN.
template <class T>
void less(const View<bool>& out, const View<const T>& a, const View<const T>& b);
template <class T>
void less_equal(const View<bool>& out, const View<const T>& a, const View<const T>& b);
template <class T>
void equal(const View<bool>& out, const View<const T>& a, const View<const T>& b);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
