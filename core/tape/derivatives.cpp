// Products with the Jacobian and the Hessian, built on Tape::gradients().
#include "core/tape/derivatives.hpp"

#include <algorithm>

#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

void check_direction(const char* op, const Tensor& v, const Tensor& like, const char* what) {
  if (v.shape() != like.shape() || v.dtype() != like.dtype())
    fail("[{0}] v must have the shape and type of {3}, got v {1} {2} and {3} {4} {5}; reshape or convert v",
         op, to_string(v.shape()), name_of(v.dtype()), what, to_string(like.shape()), name_of(like.dtype()));
}

}  // namespace

Tensor vjp(const TensorFunction& f, const Tensor& x, const Tensor& v) {
  Tape tape;
  const Tensor input = variable(x);
  const Tensor y = f(input);
  check_direction("vjp", v, y, "f(x)");
  return tape.gradients(y, v, std::span(&input, 1))[0].detach();
}

Tensor jvp(const TensorFunction& f, const Tensor& x, const Tensor& v) {
  check_direction("jvp", v, x, "x");
  Tape tape;
  const Tensor input = variable(x);
  const Tensor y = f(input);
  const Tensor u = variable(zeros(y.shape(), y.dtype()));
  const Tensor from_left = tape.gradients(y, u, std::span(&input, 1), {.create_graph = true})[0];
  return tape.gradients(from_left, v, std::span(&u, 1))[0].detach();
}

Tensor jacobian(const TensorFunction& f, const Tensor& x) {
  Tape tape;
  const Tensor input = variable(x);
  const Tensor y = f(input);
  Dims shape = y.shape();
  if (y.rank() + x.rank() > kMaxRank)
    fail("[jacobian] f(x) and x must have at most {2} axes together, got {0} and {1}; reshape one of them",
         to_string(y.shape()), to_string(x.shape()), kMaxRank);
  for (Size size : x.shape()) shape.push_back(size);
  Tensor result = Tensor::uninitialised(shape, x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = result.mutable_data<T>();
    for (Size i = 0; i < y.count(); ++i) {
      Tensor row = zeros(y.shape(), y.dtype());
      dispatch(y.dtype(), [&](auto y_zero) { row.mutable_data<decltype(y_zero)>()[i] = 1; });
      const auto values = tape.gradients(y, row, std::span(&input, 1), {.keep = true})[0].to_vector();
      out = std::transform(values.begin(), values.end(), out,
                           [](double value) { return static_cast<T>(value); });
    }
  });
  return result;
}

Tensor hessian_vector(const TensorFunction& f, const Tensor& x, const Tensor& v) {
  check_direction("hessian_vector", v, x, "x");
  Tape tape;
  const Tensor input = variable(x);
  const Tensor y = f(input);
  const Tensor gradient = tape.gradients(y, {input}, {.create_graph = true})[0];
  // The gradient of a linear f is constant and not on the tape, so the second derivative is zero.
  if (gradient.impl().node < 0 && !gradient.requires_grad()) return zeros(x.shape(), x.dtype());
  return tape.gradients(gradient, v, std::span(&input, 1), {.zero_if_unused = true})[0].detach();
}

}  // namespace tapestry
