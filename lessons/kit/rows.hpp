// A small matrix as a reader would write it down.
#pragma once

#include <string_view>

#include "core/tensor/tensor.hpp"

namespace tapestry::kit {

/// Prints (rows, columns), one row a line, with so many decimals; `name` stands before the first row.
void print_rows(std::string_view name, const Tensor& x, int decimals);

}  // namespace tapestry::kit
