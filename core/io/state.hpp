// Tensors by name: what a model's weights are, in memory and in a file.
#pragma once

#include <map>
#include <string>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Tensors by name, as in a file of weights.
using State = std::map<std::string, Tensor>;

}  // namespace tapestry
