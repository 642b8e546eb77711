// The check that a lesson's implementation by hand agrees with the one in nn/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/kit/program/report.hpp"

namespace tapestry::kit {

/// Checks `by_hand` in two steps, both in f64. First gradcheck compares its gradients of all leaves with finite
/// differences. Then its value, and the gradients of all leaves for one random cotangent, must agree with `by_nn` to
/// 1e-12. Prints one line, "name: gradcheck of 156 derivatives; nn/ agrees to 1e-12 ok", and gradcheck's own report
/// if that fails. Returns true if both checks pass.
bool check_by_hand(Report& report, const std::string& name, const std::function<Tensor()>& by_hand,
                   const std::function<Tensor()>& by_nn, const std::vector<Tensor>& leaves,
                   std::uint64_t seed);

}  // namespace tapestry::kit
