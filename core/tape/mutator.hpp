// For the tests of the tests: a wrong derivative on demand.
#pragma once

#include <functional>
#include <span>

#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// Called after each rule with the gradients that it returned, which it may replace. An empty function turns
/// it off.
using GradientMutator = std::function<void(const char* op, std::span<Tensor> gradients)>;
void set_gradient_mutator(GradientMutator mutator);

}  // namespace tapestry::detail
