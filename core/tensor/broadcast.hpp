// How shapes broadcast, as in NumPy: matched from the last axis, a size of 1 repeats.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// The shape that a and b broadcast to. Throws, naming both, the op and its caller.
Dims broadcast_shape(const Tensor& a, const Tensor& b, const char* op, CallSite at);

/// Whether a tensor of shape `from` broadcasts to `to`.
bool broadcasts_to(const Dims& from, const Dims& to);

/// x as a view of `shape`, with stride 0 where it repeats; the shapes must be compatible.
template <class T>
View<const T> broadcast_view(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x.view<T>();
  View<const T> view{x.data<T>(), shape, Dims::filled(shape.rank(), 0)};
  const int ahead = shape.rank() - x.rank();
  for (int axis = 0; axis < x.rank(); ++axis)
    if (x.shape()[axis] != 1 || shape[axis + ahead] == 1) view.stride[axis + ahead] = x.strides()[axis];
  return view;
}

namespace detail {
[[noreturn]] void refuse_dtypes(const Tensor& a, const Tensor& b, const char* op, CallSite at);
}  // namespace detail

/// Throws if the types differ.
inline void check_same_dtype(const Tensor& a, const Tensor& b, const char* op, CallSite at) {
  if (a.dtype() != b.dtype()) [[unlikely]]
    detail::refuse_dtypes(a, b, op, at);
}

}  // namespace tapestry
