#include "core/tensor/broadcast.hpp"

#include <string_view>
#include <utility>

namespace tapestry {

bool broadcasts_to(const Dims& from, const Dims& to) {
  const int ahead = to.rank() - from.rank();
  if (ahead < 0) return false;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (from[axis] != 1 && from[axis] != to[axis + ahead]) return false;
  return true;
}

Dims broadcast_shape(const Tensor& a, const Tensor& b, const char* op, CallSite at) {
  const auto [shape, clash] = joint_shape(a.shape(), b.shape());
  if (clash > 0) {
    const bool matrices = std::string_view(op) == "mul" && a.rank() > 1 && b.rank() > 1;
    fail(
        "[{}] shapes {} and {} do not broadcast: axis -{} has sizes {} and {}, which must be equal or 1{} ({}:{})",
        op, describe(a), describe(b), clash, a.size(-clash), b.size(-clash),
        matrices ? "; for a matrix product, write matmul(a, b)" : "", at.file, at.line);
  }
  return shape;
}

void detail::refuse_dtypes(const Tensor& a, const Tensor& b, const char* op, CallSite at) {
  for (const auto& [x, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (!x->impl().buffer)
      fail(
          "{} has no values yet: initialise the model, or load its weights; for inputs of {}, write "
          "initialise(seed, DType::{})",
          describe(*x), name_of(other->dtype()), name_of(other->dtype()));
  fail("[{}] operands {} and {} must have the same dtype, got {} and {}; convert one with .to() ({}:{})", op,
       describe(a), describe(b), name_of(a.dtype()), name_of(b.dtype()), at.file, at.line);
}

}  // namespace tapestry
