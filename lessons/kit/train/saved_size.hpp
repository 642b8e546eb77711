// Reading of model sizes from a checkpoint, with checks before a model of these sizes allocates memory.
#pragma once

#include <string>

#include "optim/training_state.hpp"

namespace tapestry::kit {

/// Returns the size stored under `name`. Throws Error unless it is an integer from `least` to `most`.
Size saved_size(const TrainingState& saved, const std::string& name, Size least, Size most);

/// Upper bounds for the sizes of the model in a checkpoint's section "model".
struct ModelBounds {
  Size layers = 0;  ///< number of tensors, since each layer has at least one
  Size width = 0;   ///< length of the longest axis of all tensors
};
/// Returns the bounds. Throws Error if the checkpoint has no section "model".
ModelBounds bounds_of_model(const TrainingState& saved);

}  // namespace tapestry::kit
