// Printing of small matrices.
#pragma once

#include <string_view>

#include "core/tensor/tensor.hpp"

namespace tapestry::kit {

/// Prints a tensor (rows, columns), one row per line, with `decimals` decimals and `name` before the first row.
void print_rows(std::string_view name, const Tensor& x, int decimals);

}  // namespace tapestry::kit
