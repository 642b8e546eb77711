// Diagnosis of a wrong gradient: compares analytic and numeric values and suggests the likely cause.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// A tensor with respect to which a check differentiates.
struct CheckTarget {
  Tensor value;
  std::string label;
  std::vector<double> base;      // values at which the derivative is taken, in row-major order
  std::vector<double> analytic;  // gradient from the backward rules
  std::vector<double> numeric;   // finite differences, for all elements or for the sampled ones
  std::vector<Size> sampled;     // indices of the sampled elements; empty: all
  double steepest = 0;           // largest absolute slope along a direction
  Size wrong = 0;                // number of elements that differ
};

/// Returns the likely cause of the failure of the target with this label. Looks for common mistakes: NaN, a zero
/// gradient, a wrong sign or factor, transposed axes, exchanged arguments, a few wrong elements.
std::string what_to_look_at(const std::string& label, std::span<const CheckTarget> targets);

}  // namespace tapestry::detail
