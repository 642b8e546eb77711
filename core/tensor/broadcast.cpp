#include "core/tensor/broadcast.hpp"

namespace tapestry {

bool broadcasts_to(const Dims& from, const Dims& to) {
  const int ahead = to.rank() - from.rank();
  if (ahead < 0) return false;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (from[axis] != 1 && from[axis] != to[axis + ahead]) return false;
  return true;
}

Dims broadcast_shape(const Tensor& a, const Tensor& b, const char* op, CallSite at) {
  const int rank = std::max(a.rank(), b.rank());
  Dims shape = Dims::filled(rank, 1);
  for (int back = 1; back <= rank; ++back) {
    const Size m = back <= a.rank() ? a.shape()[a.rank() - back] : 1;
    const Size n = back <= b.rank() ? b.shape()[b.rank() - back] : 1;
    if (m != n && m != 1 && n != 1)
      fail(
          "[{}] shapes {} and {} do not broadcast: axis -{} has sizes {} and {}; equal sizes or 1 do ({}:{})",
          op, describe(a), describe(b), back, m, n, at.file, at.line);
    shape[rank - back] = m == 1 ? n : m;
  }
  return shape;
}

void detail::refuse_dtypes(const Tensor& a, const Tensor& b, const char* op, CallSite at) {
  fail("[{}] operands {} and {} are of types {} and {}: convert one with .to() ({}:{})", op, describe(a),
       describe(b), name_of(a.dtype()), name_of(b.dtype()), at.file, at.line);
}

}  // namespace tapestry
