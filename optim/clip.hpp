// Clipping by the global norm (Pascanu, Mikolov & Bengio 2013).
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// What to do when the norm is infinite or NaN.
enum class NonFinite {
  refuse,  ///< throw, naming the first such gradient
  report,  ///< return the norm and leave the gradients alone: the caller skips the step
};

/// ‖g‖ over the gradients of all these leaves together; absent ones count nothing, a leaf listed twice counts
/// once. Summed in f64 in an order that follows from the shapes.
double gradient_norm(const std::vector<Tensor>& leaves);

/// Multiplies the gradients by min(1, max_norm / (‖g‖ + 10⁻⁶)) and returns ‖g‖, from before. A gradient that
/// others hold is replaced, never changed under them. Throws if max_norm is not above 0.
double clip_gradients(const std::vector<Tensor>& leaves, double max_norm,
                      NonFinite non_finite = NonFinite::refuse);

}  // namespace tapestry
