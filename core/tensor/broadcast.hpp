// How shapes broadcast, as in NumPy: matched from the last axis, a size of 1 repeats.
#pragma once

#include <algorithm>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// What two shapes broadcast to.
struct JointShape {
  Dims shape;     // where they clash, with a's size
  int clash = 0;  // the last axis, counted from the back, whose sizes differ and are not 1; 0 if they fit
};

/// Never throws: whoever asks knows best what to call the two.
inline JointShape joint_shape(const Dims& a, const Dims& b) {
  JointShape joint{Dims::filled(std::max(a.rank(), b.rank()), 1)};
  for (int back = 1; back <= joint.shape.rank(); ++back) {
    const Size m = a.from_back(back), n = b.from_back(back);
    if (m != n && m != 1 && n != 1 && joint.clash == 0) joint.clash = back;
    joint.shape[joint.shape.rank() - back] = m == 1 ? n : m;
  }
  return joint;
}

/// The shape that a and b broadcast to. Throws, naming both, the op and its caller.
Dims broadcast_shape(const Tensor& a, const Tensor& b, const char* op, CallSite at);

/// Whether a tensor of shape `from` broadcasts to `to`.
bool broadcasts_to(const Dims& from, const Dims& to);

/// Strides that read a tensor of this shape and these strides as one of shape `to`: 0 where it repeats. The
/// first must broadcast to the second.
inline Dims broadcast_strides(const Dims& shape, const Dims& stride, const Dims& to) {
  Dims result = Dims::filled(to.rank(), 0);
  const int ahead = to.rank() - shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] != 1 || to[axis + ahead] == 1) result[axis + ahead] = stride[axis];
  return result;
}

/// x as a view of `shape`, with stride 0 where it repeats; the shapes must be compatible.
template <class T>
View<const T> broadcast_view(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x.view<T>();
  return {x.data<T>(), shape, broadcast_strides(x.shape(), x.strides(), shape)};
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
