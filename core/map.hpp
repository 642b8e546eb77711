// Element-wise kernels from a function: map for one tensor, zip for two or three (broadcast as NumPy does).
// The function is inlined into the SIMD loop, so a learner's lambda runs as fast as the library's own:
//
//     Tensor y = map(x, [](auto v) { return v * v; });
#pragma once

#include "core/simd/elementwise.hpp"
#include "core/simd/functors.hpp"
#include "core/tensor.hpp"

namespace tapestry {

/// The shape that a and b broadcast to: sizes are matched from the last axis, a size of 1 repeats. Throws,
/// naming both and the op.
Dims broadcast_shape(const Tensor& a, const Tensor& b, const char* op);

/// x as a view of `shape`, with stride 0 where it repeats; the shapes must be compatible.
template <class T>
View<const T> broadcast_view(const Tensor& x, const Dims& shape) {
  View<const T> view{x.data<T>(), shape, Dims::filled(shape.rank(), 0)};
  const int ahead = shape.rank() - x.rank();
  for (int axis = 0; axis < x.rank(); ++axis)
    if (x.shape()[axis] != 1 || shape[axis + ahead] == 1) view.stride[axis + ahead] = x.strides()[axis];
  return view;
}

/// Throws if the types differ.
void check_same_dtype(const Tensor& a, const Tensor& b, const char* op);

/// y = f(x) for each element.
template <class F>
Tensor map(const Tensor& x, const F& f) {
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::map(f, y.mutable_view<T>(), x.view<T>());
  });
  return y;
}

/// y = f(a, b) for each element of the broadcast shape; the op's name for messages is the calling function's.
template <class F>
Tensor zip(const Tensor& a, const Tensor& b, const F& f, const char* op = __builtin_FUNCTION()) {
  check_same_dtype(a, b, op);
  const Dims shape = a.shape() == b.shape() ? a.shape() : broadcast_shape(a, b, op);
  Tensor y = Tensor::uninitialised(shape, a.dtype());
  dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::map(f, y.mutable_view<T>(), broadcast_view<T>(a, shape), broadcast_view<T>(b, shape));
  });
  return y;
}

/// y = f(a, b, c); all three must have the same shape already.
template <class F>
Tensor zip(const Tensor& a, const Tensor& b, const Tensor& c, const F& f,
           const char* op = __builtin_FUNCTION()) {
  check_same_dtype(a, b, op);
  check_same_dtype(a, c, op);
  if (a.shape() != b.shape() || a.shape() != c.shape())
    fail("[{}] shapes {}, {} and {} differ", op, describe(a), describe(b), describe(c));
  Tensor y = Tensor::uninitialised(a.shape(), a.dtype());
  dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::map(f, y.mutable_view<T>(), a.view<T>(), b.view<T>(), c.view<T>());
  });
  return y;
}

}  // namespace tapestry
