// Functions that create tensors: constants, ranges, nested lists and random values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// full, zeros and ones set every element to `value`, 0 or 1. They throw like check_shape().
Tensor full(const Dims& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Dims& shape, DType dtype = DType::f32);
Tensor ones(const Dims& shape, DType dtype = DType::f32);
/// Returns a tensor of rank 0.
Tensor scalar(double value, DType dtype = DType::f32);
/// Returns begin, begin + step, … below end (above end for a negative step). Throws Error for a step of 0 or a range
/// that is not finite.
Tensor arange(double begin, double end, double step = 1.0, DType dtype = DType::f32);
/// Returns the identity matrix (n, n).
Tensor eye(Size n, DType dtype = DType::f32);

/// Returns a tensor with these values in row-major order. Throws Error if their number does not match the shape.
Tensor tensor(std::span<const double> values, const Dims& shape, DType dtype = DType::f32);
/// Numbers in nested braces, e.g. {{1, 2}, {3, 4}}. Throws Error unless all lists of a level have equal shapes.
class NestedList {
 public:
  NestedList(double number) : values_{number} {}
  NestedList(std::initializer_list<NestedList> parts);

  /// shape() has one size for each level of braces; values() are in row-major order.
  const Dims& shape() const { return shape_; }
  const std::vector<double>& values() const { return values_; }

 private:
  Dims shape_;
  std::vector<double> values_;
};
/// Creates a tensor from nested braces: tensor({1, 2}), tensor({{1, 2}, {3, 4}}), tensor({{{1}, {2}}}).
Tensor tensor(const NestedList& list, DType dtype = DType::f32);

/// Standard normal values. Each depends on the seed and its index only. In f32, they are the values of f64, rounded.
Tensor random_normal(const Dims& shape, std::uint64_t seed, DType dtype = DType::f32);
/// Uniform values on [low, high), or on (high, low] if high < low; `high` is excluded after rounding to f32, too.
Tensor random_uniform(const Dims& shape, std::uint64_t seed, double low = 0, double high = 1,
                      DType dtype = DType::f32);

}  // namespace tapestry
