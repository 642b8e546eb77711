// Random tensors in f64, random parameters, and how far two tensors are apart.
#pragma once

#include "core/ops/ops.hpp"
#include "core/tensor/random.hpp"
#include "nn/module.hpp"
#include "tests/catch.hpp"

namespace tapestry::testing {

inline constexpr DType f64 = DType::f64;

inline Tensor normal(const Dims& shape, std::uint64_t seed, DType dtype = DType::f64) {
  return random_normal(shape, seed, dtype);
}

/// Sets each parameter to normal numbers in f64, those too that start from 0 or 1.
inline void randomise(Module& module, std::uint64_t seed) {
  State values;
  for (const auto& [name, parameter] : module.state())
    values.emplace(name, normal(parameter.shape(), ++seed));
  module.load_state(values);
}

/// The largest difference; NaN where one is. Tensors of other shapes fail the test.
inline double apart(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return a.count() == 0 ? 0 : max(abs(a.detach() - b.detach())).item();
}

}  // namespace tapestry::testing
