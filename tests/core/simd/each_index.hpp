// All places of a strided view, one after the other.
#pragma once

#include "core/simd/view.hpp"

namespace tapestry::simd {

/// Calls f(index) for all indices of `shape`, in row-major order.
template <class F>
void each(const Dims& shape, const F& f) {
  if (shape.count() == 0) return;
  Dims index = Dims::filled(shape.rank(), 0);
  for (;;) {
    f(index);
    int axis = shape.rank() - 1;
    while (axis >= 0 && ++index[axis] == shape[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}

/// How far from the first element the one at `index` lies.
inline Size offset_of(const Dims& stride, const Dims& index) {
  Size offset = 0;
  for (int axis = 0; axis < index.rank(); ++axis) offset += index[axis] * stride[axis];
  return offset;
}

}  // namespace tapestry::simd
