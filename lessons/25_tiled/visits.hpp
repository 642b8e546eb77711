// The order in which the kernel visits its tiles, for a page of the book that shows them one by one.
#pragma once

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson25 {

/// Writes visits.json: the queries and keys; for attention among some of them, full and causal, each tile in
/// the order in which attend() visits it; and the log-sum-exp of each query. Use one thread.
void save_visits(const kit::Options& options);

}  // namespace tapestry::lesson25
