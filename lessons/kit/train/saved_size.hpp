// Sizes that a checkpoint names, checked before a model of these sizes takes any memory.
#pragma once

#include <string>

#include "optim/training_state.hpp"

namespace tapestry::kit {

/// The size that a checkpoint stores under `name`. Throws Error unless it is a whole number from `least` to `most`.
Size saved_size(const TrainingState& saved, const std::string& name, Size least, Size most);

/// Upper bounds for the sizes of the model in a checkpoint's section "model".
struct ModelBounds {
  Size layers = 0;  ///< each layer has a tensor at least
  Size width = 0;   ///< the longest axis of all tensors
};
ModelBounds bounds_of_model(const TrainingState& saved);

}  // namespace tapestry::kit
