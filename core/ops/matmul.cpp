#include "core/ops/matmul.hpp"

#include <algorithm>

#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/matmul/matmul.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/layout.hpp"

namespace tapestry {

namespace detail {

void multiply(Tensor& c, const Tensor& a, const Tensor& b, const Tensor& bias, bool accumulate) {
  const Tensor dense_bias = bias.defined() ? contiguous(bias.detach()) : bias;
  dispatch(c.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Dims shape = c.shape();
    Dims a_shape = shape, b_shape = shape;
    const int row = shape.rank() - 2, column = shape.rank() - 1;
    a_shape[column] = b_shape[row] = a.size(-1);
    const View<const T> left = broadcast_view<T>(a, a_shape), right = broadcast_view<T>(b, b_shape);
    simd::Matmul<T> product;
    product.m = shape[row], product.n = shape[column], product.k = a_shape[column];
    product.a = left.data, product.a_row = left.stride[row], product.a_col = left.stride[column];
    product.b = right.data, product.b_row = right.stride[row], product.b_col = right.stride[column];
    product.c = c.mutable_data<T>(), product.c_row = c.strides()[row];
    product.bias = bias.defined() ? dense_bias.data<T>() : nullptr;
    product.accumulate = accumulate;
    for (int axis = 0; axis < row; ++axis) {
      product.batch.push_back(shape[axis]);
      product.a_batch.push_back(left.stride[axis]);
      product.b_batch.push_back(right.stride[axis]);
      product.c_batch.push_back(c.strides()[axis]);
    }
    simd::matmul(product);
  });
}

}  // namespace detail

using detail::multiply;

namespace {

/// Returns the shape (rows, n) of x (…, n) as a matrix.
Dims rows_of(const Tensor& x) {
  Dims outer = x.shape();
  outer.erase(outer.rank() - 1);
  return {outer.count(), x.size(-1)};
}
/// Returns x as a matrix (rows, n), recorded on the tape. Copies only if the strides require it.
Tensor as_rows(const Tensor& x) { return reshape(x, rows_of(x)); }
/// Returns x as a matrix (rows, n), off the tape.
Tensor as_matrix(const Tensor& x) { return detail::reshaped(x, rows_of(x)); }

}  // namespace

// y = a·b        ∂a = dy·bᵀ        ∂b = aᵀ·dy
Tensor matmul(const Tensor& a, const Tensor& b, CallSite at) {
  check_same_dtype(a, b, "matmul", at);
  if (a.rank() < 2 || b.rank() < 2)
    fail(
        "[matmul] operands must have at least two axes, got a {} · b {}; unsqueeze() adds an axis to a vector "
        "({}:{})",
        describe(a), describe(b), at.file, at.line);
  if (a.size(-1) != b.size(-2))
    fail("[matmul] inner sizes differ: a {} · b {}{} ({}:{})", describe(a), describe(b),
         a.size(-1) == b.size(-1) ? "; transpose b?" : "", at.file, at.line);
  // A batch of matrices times one matrix is computed as a single tall product.
  if (a.rank() > 2 && b.rank() == 2) {
    Dims shape = a.shape();
    const Size rows = shape.count() / std::max<Size>(1, shape.back());
    shape.back() = b.size(-1);
    if (a.size(-1) > 0) return reshape(matmul(reshape(a, {rows, a.size(-1)}, at), b, at), shape, at);
  }
  const auto leading = [](Dims shape) {
    shape[shape.rank() - 2] = shape.back() = 1;
    return shape;
  };
  auto [shape, clash] = joint_shape(leading(a.shape()), leading(b.shape()));
  if (clash > 0)
    fail("[matmul] leading axes of a {} and b {} do not broadcast ({}:{})", describe(a), describe(b), at.file,
         at.line);
  shape[shape.rank() - 2] = a.size(-2);
  shape[shape.rank() - 1] = b.size(-1);
  Tensor y = uninitialised_like(b, shape);
  multiply(y, a, b);
  // A product can be added to the gradient directly, unless the factor was broadcast over leading axes: then the
  // product is first summed over the repeats.
  const auto has_same_batch = [](const Tensor& sum, const Tensor& dy) {
    return sum.rank() == dy.rank() &&
           std::equal(sum.shape().begin(), sum.shape().end() - 2, dy.shape().begin());
  };
  return op<"matmul">(at, std::move(y),
                      wrt(
                          a, [b](const Tensor& dy) { return matmul(dy, transpose(b)); },
                          [b, has_same_batch](Tensor& sum, const Tensor& dy) {
                            if (has_same_batch(sum, dy)) return multiply(sum, dy, transpose(b), {}, true);
                            add_in_place(sum, sum_to(matmul(dy, transpose(b)), sum.shape()));
                          }),
                      wrt(
                          b, [a](const Tensor& dy) { return matmul(transpose(a), dy); },
                          [a, has_same_batch](Tensor& sum, const Tensor& dy) {
                            if (has_same_batch(sum, dy)) return multiply(sum, transpose(a), dy, {}, true);
                            add_in_place(sum, sum_to(matmul(transpose(a), dy), sum.shape()));
                          }));
}

// y = x Wᵀ + b        ∂x = dy·W        ∂W = dyᵀ·x        ∂b = Σ dy
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, CallSite at) {
  check_same_dtype(x, weight, "linear", at);
  if (x.rank() < 1 || weight.rank() != 2 || x.size(-1) != weight.size(1))
    fail("[linear] x {} does not fit weight {}; x must be (…, in) and weight (out, in) ({}:{})", describe(x),
         describe(weight), at.file, at.line);
  if (bias.defined()) {
    check_same_dtype(x, bias, "linear", at);
    if (bias.rank() != 1 || bias.size(0) != weight.size(0))
      fail("[linear] bias {} does not fit weight {}; bias must be (out) and weight (out, in) ({}:{})",
           describe(bias), describe(weight), at.file, at.line);
  }
  Dims shape = x.shape();
  shape.back() = weight.size(0);
  Tensor y = Tensor::uninitialised(shape, x.dtype());
  Tensor rows = as_matrix(y);
  multiply(
      rows, as_matrix(x),
      detail::alias(weight, {weight.size(1), weight.size(0)}, {weight.strides()[1], weight.strides()[0]}),
      bias);
  return op<"linear">(
      at, std::move(y),
      wrt(x, [weight, in = x.shape()](const Tensor& dy) { return reshape(matmul(as_rows(dy), weight), in); }),
      wrt(
          weight, [x](const Tensor& dy) { return matmul(transpose(as_rows(dy)), as_rows(x)); },
          [x](Tensor& sum, const Tensor& dy) {
            multiply(sum, transpose(as_matrix(dy)), as_matrix(x), {}, true);
          }),
      wrt(bias, [](const Tensor& dy) { return dy; }));
}

}  // namespace tapestry
