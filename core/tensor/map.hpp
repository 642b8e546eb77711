// Element-wise kernels from a function: map for one tensor, zip for two or three (broadcast as NumPy does).
// The function is inlined into the SIMD loop, so a learner's lambda runs as fast as the library's own:
//
//     Tensor y = map(x, [](auto v) { return v * v; });
#pragma once

#include "core/simd/elementwise.hpp"
#include "core/simd/functors.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// y = f(x) for each element.
template <class F>
Tensor map(const Tensor& x, const F& f) {
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (x.is_contiguous())
      simd::map(f, x.count(), y.mutable_data<T>(), x.data<T>());
    else
      simd::map(f, y.mutable_view<T>(), x.view<T>());
  });
  return y;
}

namespace detail {

/// y = f(a, b) for tensors of one shape.
template <class F>
void zip_alike(Tensor& y, const Tensor& a, const Tensor& b, const F& f) {
  dispatch(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (y.is_contiguous() && a.is_contiguous() && b.is_contiguous())
      simd::map(f, y.count(), y.mutable_data<T>(), a.data<T>(), b.data<T>());
    else
      simd::map(f, y.mutable_view<T>(), a.view<T>(), b.view<T>());
  });
}

}  // namespace detail

/// y = f(a, b) for each element of y, to whose shape and type a and b broadcast. One of them may be y.
template <class F>
void zip_into(Tensor& y, const Tensor& a, const Tensor& b, const F& f) {
  if (a.shape() == y.shape() && b.shape() == y.shape()) return detail::zip_alike(y, a, b, f);
  dispatch(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::map(f, y.mutable_view<T>(), broadcast_view<T>(a, y.shape()), broadcast_view<T>(b, y.shape()));
  });
}

/// y = f(a, b) for each element of the broadcast shape. Messages name the calling function, and `at`.
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

/// y = f(a, b, c); all three must have the same shape already.
template <class F>
Tensor zip(const Tensor& a, const Tensor& b, const Tensor& c, const F& f, CallSite at = {},
           const char* op = __builtin_FUNCTION()) {
  check_same_dtype(a, b, op, at);
  check_same_dtype(a, c, op, at);
  if (a.shape() != b.shape() || a.shape() != c.shape())
    fail("[{}] shapes {}, {} and {} differ ({}:{})", op, describe(a), describe(b), describe(c), at.file,
         at.line);
  Tensor y = Tensor::uninitialised(a.shape(), a.dtype());
  dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::map(f, y.mutable_view<T>(), a.view<T>(), b.view<T>(), c.view<T>());
  });
  return y;
}

}  // namespace tapestry
