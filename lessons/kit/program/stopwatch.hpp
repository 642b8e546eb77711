// Times of things that are to be compared with each other.
#pragma once

#include <functional>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::kit {

/// How long one run takes.
double seconds(const std::function<void()>& run);
/// The fastest of so many runs.
double fastest(int runs, const std::function<void()>& run);

struct Timed {
  double amount = 0;  ///< what one run does: operations or bytes, in billions
  std::function<void()> run;
  Size every = 1;   ///< takes part in one round of so many
  double best = 0;  ///< billions a second, in the fastest run so far
};

/// Clocks change with temperature, and other programs come and go. So all take turns in many short rounds,
/// and of each the fastest run counts: then all met the same conditions. A turn is three runs, since the
/// first finds somebody else's numbers in the caches.
void take_turns(const std::vector<Timed*>& all, Size rounds);

}  // namespace tapestry::kit
