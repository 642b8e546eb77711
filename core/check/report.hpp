// What gradcheck has found out about one tensor, and what that suggests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// One tensor that a check differentiates with respect to.
struct CheckTarget {
  Tensor value;
  std::string label;
  std::vector<double> base;      // the values where the derivative is taken, in row-major order
  std::vector<double> analytic;  // what the rules give
  std::vector<double> numeric;   // what differences give, for all elements or for the sampled ones
  std::vector<Size> sampled;     // empty: all
  double steepest = 0;           // the largest slope along a direction
  Size wrong = 0;                // how many elements differ
};

/// A sentence for the target of this label, after looking for the usual mistakes: a sign, a factor, a
/// transposition, arguments exchanged, nothing at all.
std::string what_to_look_at(const std::string& label, std::span<const CheckTarget> targets);

}  // namespace tapestry::detail
