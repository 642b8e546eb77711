// Older units in which inputs multiply inputs, the predecessors of linear attention.
#pragma once

#include <cstdint>

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson30 {

/// Gradient-checks each unit of relatives.cpp, and checks the claims of its text.
void older_relatives(std::uint64_t seed, kit::Report& report);

}  // namespace tapestry::lesson30
