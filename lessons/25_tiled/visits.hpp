// In which order the kernel does its tiles: for a page of the book, which goes through them one by one.
#pragma once

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson25 {

/// Writes visits.json: queries and keys, and for attention among some of them, full and causal, each tile in the
/// order in which attend() came to it, and the log-sum-exp of each query. For one thread.
void save_visits(const kit::Options& options);

}  // namespace tapestry::lesson25
