// Gradient clipping by the global norm (Pascanu, Mikolov & Bengio 2013).
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Reaction of clip_gradients() to a norm that is infinite or NaN.
enum class NonFinite {
  refuse,  ///< throw Error and name the first gradient that is not finite
  report,  ///< return the norm and leave the gradients unchanged, so that the caller can skip the step
};

/// Returns ‖g‖, the L2 norm of the gradients of all leaves together. A leaf without a gradient adds nothing, and a leaf
/// listed twice counts once. Squares are summed in f64, in an order that depends on the shapes alone.
double gradient_norm(const std::vector<Tensor>& leaves);

/// Multiplies the gradients by min(1, max_norm / (‖g‖ + 10⁻⁶)) and returns ‖g‖ from before the clipping. A gradient
/// tensor that is shared is replaced, so that other handles keep its old values. Throws Error if max_norm is not above
/// 0, and for a non-finite norm as `non_finite` says.
double clip_gradients(const std::vector<Tensor>& leaves, double max_norm,
                      NonFinite non_finite = NonFinite::refuse);

}  // namespace tapestry
