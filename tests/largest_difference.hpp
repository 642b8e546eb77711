// The largest difference between two tensors, for comparisons with a tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "tests/catch.hpp"

namespace tapestry::test {

/// Returns max |a − b|, or infinity if a difference is NaN, so that it fails every tolerance. The shapes must be equal.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  double worst = 0;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::abs(x[i] - y[i]);
    worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
  }
  return worst;
}

}  // namespace tapestry::test
