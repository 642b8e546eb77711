// Element-wise kernels from a function: map for one tensor, zip for two (which broadcast) or three. The function is
// inlined into the SIMD loop, so your lambda runs as fast as the library's own functions:
//
//     Tensor y = map(x, [](auto v) { return v * v; });
#pragma once

#include <type_traits>
#include <utility>

#include "core/simd/elementwise.hpp"
#include "core/simd/functors.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

namespace detail {

/// Result type of f for N vectors of T, one per tensor, or void if f does not take them.
template <class F, class T, class N>
struct LaneResult;
template <class F, class T, std::size_t... N>
struct LaneResult<F, T, std::index_sequence<N...>> {
  template <class...>
  struct Of : std::type_identity<void> {};
  template <class G>
  requires std::is_invocable_v<const G&, std::conditional_t<N == N, simd::Lanes<T>, G>...>
  struct Of<G> : std::invoke_result<const G&, std::conditional_t<N == N, simd::Lanes<T>, G>...> {
  };
  using type = typename Of<F>::type;
};

template <class F, class T, std::size_t N>
struct TakesLanes
    : std::bool_constant<!std::is_void_v<typename LaneResult<F, T, std::make_index_sequence<N>>::type>> {};
template <class F, class T, std::size_t N>
struct ReturnsLanes
    : std::bool_constant<
          !std::is_same_v<typename LaneResult<F, T, std::make_index_sequence<N>>::type, bool> &&
          std::is_constructible_v<simd::Lanes<T>,
                                  typename LaneResult<F, T, std::make_index_sequence<N>>::type>> {};

/// Returns true if f takes N vectors and returns one, for both dtypes. Otherwise a static_assert says what to write.
template <std::size_t N, class F>
constexpr bool runs_on_lanes() {
  // float first: a mistake in the lambda is reported once.
  constexpr bool kTakes = std::conjunction_v<TakesLanes<F, float, N>, TakesLanes<F, double, N>>;
  static_assert(
      kTakes,
      "map, zip: the lambda must take one argument (auto v) for each tensor, by value, since it runs on many "
      "elements at once; call functions without std::, as in exp(v), and use select(v > 0, v, 0) "
      "instead of if and ?:");
  if constexpr (kTakes) {
    constexpr bool kReturns = std::conjunction_v<ReturnsLanes<F, float, N>, ReturnsLanes<F, double, N>>;
    static_assert(kReturns,
                  "map, zip: the lambda must return values, not a comparison; write "
                  "select(v > 0, v, 0), or use less(a, b), greater(a, b), … for a mask");
    return kReturns;
  }
  return false;
}

}  // namespace detail

/// y = f(x) for each element. Does not record an op.
template <class F>
Tensor map(const Tensor& x, const F& f) {
  if constexpr (detail::runs_on_lanes<1, F>()) {
    Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
    dispatch(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if (x.is_contiguous())
        simd::map(f, x.count(), y.mutable_data<T>(), x.data<T>());
      else
        simd::map(f, y.mutable_view<T>(), x.view<T>());
    });
    return y;
  } else {
    return x;  // avoids further errors after the assertion's
  }
}

namespace detail {

/// y = f(a, b) for tensors of equal shapes.
template <class F>
void zip_alike(Tensor& y, const Tensor& a, const Tensor& b, const F& f) {
  if constexpr (runs_on_lanes<2, F>())
    dispatch(y.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if (y.is_contiguous() && a.is_contiguous() && b.is_contiguous())
        simd::map(f, y.count(), y.mutable_data<T>(), a.data<T>(), b.data<T>());
      else
        simd::map(f, y.mutable_view<T>(), a.view<T>(), b.view<T>());
    });
}

}  // namespace detail

/// y = f(a, b) for each element of y. a and b must have y's dtype and broadcast to its shape. Either may be y.
template <class F>
void zip_into(Tensor& y, const Tensor& a, const Tensor& b, const F& f) {
  if (a.shape() == y.shape() && b.shape() == y.shape()) return detail::zip_alike(y, a, b, f);
  if constexpr (detail::runs_on_lanes<2, F>())
    dispatch(y.dtype(), [&](auto zero) {
      using T = decltype(zero);
      simd::map(f, y.mutable_view<T>(), broadcast_view<T>(a, y.shape()), broadcast_view<T>(b, y.shape()));
    });
}

/// y = f(a, b) for each element of the broadcast shape. Throws Error, which names the caller `op` and `at`, for shapes
/// that do not broadcast and for dtypes that differ.
template <class F>
Tensor zip(const Tensor& a, const Tensor& b, const F& f, CallSite at = {},
           const char* op = __builtin_FUNCTION()) {
  check_same_dtype(a, b, op, at);
  if (a.shape() == b.shape()) {
    Tensor y = Tensor::uninitialised(a.shape(), a.dtype());
    detail::zip_alike(y, a, b, f);
    return y;
  }
  Tensor y = Tensor::uninitialised(broadcast_shape(a, b, op, at), a.dtype());
  zip_into(y, a, b, f);
  return y;
}

/// y = f(a, b, c) for tensors of equal shapes and dtypes; others throw Error.
template <class F>
Tensor zip(const Tensor& a, const Tensor& b, const Tensor& c, const F& f, CallSite at = {},
           const char* op = __builtin_FUNCTION()) {
  check_same_dtype(a, b, op, at);
  check_same_dtype(a, c, op, at);
  if (a.shape() != b.shape() || a.shape() != c.shape())
    fail("[{}] shapes must be equal, got {}, {} and {} ({}:{})", op, describe(a), describe(b), describe(c),
         at.file, at.line);
  Tensor y = Tensor::uninitialised(a.shape(), a.dtype());
  if constexpr (detail::runs_on_lanes<3, F>())
    dispatch(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      simd::map(f, y.mutable_view<T>(), a.view<T>(), b.view<T>(), c.view<T>());
    });
  return y;
}

}  // namespace tapestry
