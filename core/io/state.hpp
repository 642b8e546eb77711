// State: named tensors, such as the weights of a model.
#pragma once

#include <map>
#include <string>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Tensors by name, as in a checkpoint file.
using State = std::map<std::string, Tensor>;

}  // namespace tapestry
