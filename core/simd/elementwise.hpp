// Element-wise kernels: map with any functor, and copy, fill, convert, less, select.
//
// Functors are called with Lanes<T> values and are inlined into the one loop that each of them gets. Where
// time goes: memory for the cheap ones, arithmetic for exp and its kin; both run in parallel above a few
// microseconds.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/simd/lanes.hpp"
#include "core/simd/loops.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace internal {

/// The one loop of a functor; not inlined, so that each value is computed by the same instructions
/// everywhere.
template <class F, class T, class... In>
[[gnu::noinline]] void run_map(const F& f, Size n, T* out, const In*... in) {
  constexpr Size kStep = kLanes<T>;
  const F function = f;  // a local copy: stores to out cannot touch it
  Size i = 0;
  for (; i + kStep <= n; i += kStep) store(out + i, Lanes<T>(function(load(in + i)...)));
  const Size rest = n - i;
  if (rest == 0) return;
  // A single value goes to all lanes: quicker than by way of memory.
  store_n(out + i, Lanes<T>(function((rest == 1 ? Lanes<T>(in[i]) : load_n(in + i, rest))...)), rest);
}

/// How much dearer than an addition a functor is: its kCost, or 1.
template <class F>
constexpr Size cost_of() {
  if constexpr (requires { F::kCost; })
    return F::kCost;
  else
    return 1;
}

}  // namespace internal

/// out[i] = f(in0[i], in1[i], …): f takes and gives Lanes<T>. All views have out's shape, with stride 0 where
/// they are broadcast. An input may be out itself. A functor may say how dear it is with `static constexpr
/// Size kCost`.
template <class T, class F, class... In>
void map(const F& f, const View<T>& out, const View<In>&... in) {
  static_assert((std::is_same_v<std::remove_const_t<In>, T> && ...));
  for_each_run(
      kGrain / internal::cost_of<F>(),
      [&f](Size n, T* to, const auto*... from) { internal::run_map<F, T>(f, n, to, from...); }, out, in...);
}

/// The same of `count` elements that lie one after the other: what most ops are about, and quicker to call.
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

/// out[i] = in[i], any strides; transposes go by tiles. T: float, double, std::int64_t, bool. The views do
/// not overlap.
template <class T>
void copy(const View<T>& out, const View<const std::type_identity_t<T>>& in);

/// out[i] = in[i] in the other type (float to double, double to float rounded to nearest).
template <class To, class From>
void convert(const View<To>& out, const View<const From>& in);

/// out[i] = condition[i] ? yes[i] : no[i].
template <class T>
void select(const View<T>& out, const View<const bool>& condition,
            const View<const std::type_identity_t<T>>& yes, const View<const std::type_identity_t<T>>& no);

/// out[i] = a[i] < b[i]; false where one is NaN.
template <class T>
void less(const View<bool>& out, const View<const T>& a, const View<const T>& b);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
