// Older units in which inputs multiply inputs, the predecessors of linear attention.
#pragma once

#include <cstdint>

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson30 {

/// Gradient-checks each unit of multiplicative_interactions.cpp, and checks the claims in its comments.
void check_multiplicative_interactions(std::uint64_t seed, kit::Report& report);

}  // namespace tapestry::lesson30
