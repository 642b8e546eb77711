// What the tests that run down the table of ops share: running a sample, laying its inputs out, and how near
// two lists of numbers are.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "tests/catch.hpp"
#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

/// |a − b| ≤ tolerance · (largest of the values, at least 1), and NaN and infinities in the same places.
inline void require_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  double scale = 1;
  for (double x : b)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  const auto near = [&](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance * scale;
  };
  // One assertion for all elements: under a sanitizer an assertion costs more than an op.
  const auto [bad_a, bad_b] = std::mismatch(a.begin(), a.end(), b.begin(), near);
  const bool agree = bad_a == a.end();
  if (!agree) UNSCOPED_INFO("element " << bad_a - a.begin() << ": " << *bad_a << ", expected " << *bad_b);
  REQUIRE(agree);
}

inline Tensors tensors(const Plains& inputs, DType dtype = DType::f64) {
  Tensors list;
  for (const Plain& x : inputs) list.push_back(to_tensor(x, dtype));
  return list;
}

inline Tensors variables(const Tensors& inputs) {
  Tensors list;
  for (const Tensor& x : inputs) list.push_back(variable(x));
  return list;
}

/// The same values in memory that is laid out in another way, written here element by element.
enum class Layout { reversed_axes, one_off, every_second, backwards_room };
inline constexpr Layout kLayouts[] = {Layout::reversed_axes, Layout::one_off, Layout::every_second,
                                      Layout::backwards_room};
inline Tensor laid_out(const Plain& x, Layout layout, DType dtype) {
  const int rank = x.shape.rank();
  Dims stride = dense_strides(x.shape);
  Size offset = 0, room = x.shape.count();
  if (layout == Layout::reversed_axes) {
    Size step = 1;
    for (int axis = 0; axis < rank; ++axis) {
      stride[axis] = step;
      step *= x.shape[axis];
    }
  } else if (layout == Layout::one_off) {
    offset = 1;
    room += 1;
  } else {
    for (int axis = 0; axis < rank; ++axis) stride[axis] *= layout == Layout::every_second ? 2 : 3;
    offset = layout == Layout::every_second ? 0 : 5;
    room = 3 * room + 5;
  }
  Tensor memory = full({room}, 1e30, dtype);  // what a wrong stride would read
  Tensor view = detail::alias(memory, x.shape, stride, offset);
  std::size_t next = 0;
  generate(x.shape, [&](const Index& index) {
    Size at = offset;
    for (int axis = 0; axis < rank; ++axis) at += index[static_cast<std::size_t>(axis)] * stride[axis];
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      memory.mutable_data<T>()[at] = static_cast<T>(x.v[next]);
    });
    ++next;
    return 0.0;
  });
  return view;
}

/// The sample's result, with the random state put back.
inline Tensor call(const Sample& sample, const Tensors& inputs) {
  const RandomState before = random_state();
  const Tensor y = sample.op(inputs);
  random_state() = before;
  return y;
}

/// The value, then the gradient of each input, in row-major order.
using Results = std::vector<std::vector<double>>;

inline void require_near(const Results& a, const Results& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO((i == 0 ? "value" : "gradient ") << i);
    require_near(a[i], b[i], tolerance);
  }
}

/// Numbers between −2 and 2 that are quicker to draw than normal().
inline Plain noise(const Dims& shape, std::uint64_t seed) {
  Plain x{shape, std::vector<double>(static_cast<std::size_t>(shape.count()))};
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (double& value : x.v) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's
    value = static_cast<double>(state >> 11) * 0x1p-51 - 2;
  }
  return x;
}

/// The cotangent of a sample whose result has this shape.
inline Plain cotangent(const Dims& shape) { return noise(shape, 4); }

/// A sample run forward and backward, its dy dense or laid out.
inline Results results_of(const Sample& sample, const Tensors& inputs, std::optional<Layout> of_dy = {}) {
  Tape tape;
  const Tensors xs = variables(inputs);
  const Tensor y = call(sample, xs);
  Results results{y.to_vector()};
  if (y.impl().node < 0) return results;
  const Plain dy = cotangent(y.shape());
  for (const Tensor& g : tape.gradients(y, of_dy ? laid_out(dy, *of_dy, y.dtype()) : to_tensor(dy, y.dtype()),
                                        xs, {.zero_if_unused = true}))
    results.push_back(g.to_vector());
  return results;
}

}  // namespace tapestry::table
