// Timing of functions that are compared with each other.
#pragma once

#include <functional>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::kit {

/// Returns the time of one run in seconds.
double seconds(const std::function<void()>& run);
/// Returns the shortest time of `runs` runs, in seconds.
double fastest(int runs, const std::function<void()>& run);

/// Function to be timed, with its best throughput so far.
struct Timed {
  double amount = 0;  ///< work of one run: operations or bytes, in billions
  std::function<void()> run;
  Size every = 1;   ///< takes part in every n-th round
  double best = 0;  ///< billions per second in the fastest run so far
};

/// Times all functions in many short rounds and keeps the fastest run of each. Clock frequency and other programs vary
/// over time, so taking turns gives all functions the same conditions. A turn has three runs, because the first one
/// finds another function's data in the caches.
void take_turns(const std::vector<Timed*>& all, Size rounds);

}  // namespace tapestry::kit
