// NumPy broadcasting: shapes are matched from the last axis, and an axis of size 1 repeats.
#pragma once

#include <algorithm>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Result of broadcasting two shapes a and b.
struct JointShape {
  Dims shape;     // has a's size on axes that clash
  int clash = 0;  // last axis, counted from the back, whose sizes differ and are not 1; 0 if there is none
};

/// Broadcasts two shapes. Reports a clash in the result and does not throw, so that the caller can name the operands.
inline JointShape joint_shape(const Dims& a, const Dims& b) {
  JointShape joint{Dims::filled(std::max(a.rank(), b.rank()), 1)};
  for (int back = 1; back <= joint.shape.rank(); ++back) {
    const Size m = a.from_back(back), n = b.from_back(back);
    if (m != n && m != 1 && n != 1 && joint.clash == 0) joint.clash = back;
    joint.shape[joint.shape.rank() - back] = m == 1 ? n : m;
  }
  return joint;
}

/// Returns the shape that a and b broadcast to. Throws Error with both shapes, the op and the call site.
Dims broadcast_shape(const Tensor& a, const Tensor& b, const char* op, CallSite at);

/// Returns true if shape `from` broadcasts to shape `to`.
bool broadcasts_to(const Dims& from, const Dims& to);

/// Returns the strides that read a tensor of this shape and stride as one of shape `to`: 0 on repeated axes. `shape`
/// must broadcast to `to`.
inline Dims broadcast_strides(const Dims& shape, const Dims& stride, const Dims& to) {
  Dims result = Dims::filled(to.rank(), 0);
  const int ahead = to.rank() - shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] != 1 || to[axis + ahead] == 1) result[axis + ahead] = stride[axis];
  return result;
}

/// Returns x as a view of `shape`, with stride 0 on repeated axes. x's shape must broadcast to `shape`.
template <class T>
View<const T> broadcast_view(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x.view<T>();
  return {x.data<T>(), shape, broadcast_strides(x.shape(), x.strides(), shape)};
}

namespace detail {
[[noreturn]] void refuse_dtypes(const Tensor& a, const Tensor& b, const char* op, CallSite at);
}  // namespace detail

/// Throws Error if the dtypes of a and b differ.
inline void check_same_dtype(const Tensor& a, const Tensor& b, const char* op, CallSite at) {
  if (a.dtype() != b.dtype()) [[unlikely]]
    detail::refuse_dtypes(a, b, op, at);
}

}  // namespace tapestry
