// Named constructors of tensors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// full, zeros and ones: every element is `value`, 0 or 1. Throws as check_shape() does.
Tensor full(const Dims& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Dims& shape, DType dtype = DType::f32);
Tensor ones(const Dims& shape, DType dtype = DType::f32);
/// A tensor of rank 0.
Tensor scalar(double value, DType dtype = DType::f32);
/// begin, begin + step, … below end (above, for a negative step).
Tensor arange(double begin, double end, double step = 1.0, DType dtype = DType::f32);
/// (n, n) with ones on the diagonal.
Tensor eye(Size n, DType dtype = DType::f32);

/// Values in row-major order.
Tensor tensor(std::span<const double> values, const Dims& shape, DType dtype = DType::f32);
/// Numbers in nested braces, e.g. {{1, 2}, {3, 4}}; lists beside each other must have equal shapes.
class NestedList {
 public:
  NestedList(double number) : values_{number} {}
  NestedList(std::initializer_list<NestedList> parts);

  /// Its shape(), a size for each level of braces, and its values() in row-major order.
  const Dims& shape() const { return shape_; }
  const std::vector<double>& values() const { return values_; }

 private:
  Dims shape_;
  std::vector<double> values_;
};
/// tensor({1, 2}), tensor({{1, 2}, {3, 4}}), tensor({{{1}, {2}}}).
Tensor tensor(const NestedList& list, DType dtype = DType::f32);

/// Standard normal values that depend on the seed and the place only: the same in f32 (rounded) and f64.
Tensor random_normal(const Dims& shape, std::uint64_t seed, DType dtype = DType::f32);
/// Uniform on [low, high), or (high, low] where high is the lower one; after rounding, too.
Tensor random_uniform(const Dims& shape, std::uint64_t seed, double low = 0, double high = 1,
                      DType dtype = DType::f32);

}  // namespace tapestry
