// Numbers of the references in plain loops: rows, and the functions that many formulas take.
#pragma once

#include <cmath>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::testing {

using Row = std::vector<double>;

inline std::size_t at(Size i) { return static_cast<std::size_t>(i); }

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

inline Row softmax_of(Row scores, double temperature = 1) {
  double total = 0;
  for (double& s : scores) total += s = std::exp(s / temperature);
  for (double& s : scores) s /= total;
  return scores;
}

}  // namespace tapestry::testing
