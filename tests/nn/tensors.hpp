// Random tensors in f64, and how far two tensors are apart.
#pragma once

#include "core/ops/ops.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"

namespace tapestry::testing {

inline Tensor normal(const Dims& shape, std::uint64_t seed, DType dtype = DType::f64) {
  return random_normal(shape, seed, dtype);
}

/// The largest difference; NaN where one is. Tensors of other shapes fail the test.
inline double apart(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return a.count() == 0 ? 0 : max(abs(a.detach() - b.detach())).item();
}

}  // namespace tapestry::testing
