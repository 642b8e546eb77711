// A page of its own: the older relatives of a memory that is a matrix.
#pragma once

#include <cstdint>

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson30 {

/// Runs the page, relatives.cpp: each unit gradient-checked, and what its text says checked.
void older_relatives(std::uint64_t seed, kit::Report& report);

}  // namespace tapestry::lesson30
