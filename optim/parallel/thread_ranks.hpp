// Ranks that are threads of one program, with a wire between them that may be made slow or cut.
//
//     run_on_threads({.ranks = 4}, [](Communicator& ranks) { … });
#pragma once

#include <functional>
#include <vector>

#include "optim/parallel/communicator.hpp"

namespace tapestry {

/// How many threads play ranks, and over what wire.
struct ThreadRanks {
  int ranks = 2;  // 1 to 64
  /// Seconds that a rank waits for another.
  double timeout = 60;
  /// The wire: each message takes `latency` seconds and `per_byte` for each of its bytes. 0: as fast as it goes.
  double latency = 0, per_byte = 0;
};

/// Runs body(communicator) on so many threads, as ranks 0, 1, …, and returns when all have ended. If some of
/// them throw, the first one's exception is rethrown then: first in time, since the others' RankFailure follows from it. A
/// rank that has ended counts as lost for those that wait for it. Throws if ranks is not from 1 to 64.
void run_on_threads(const ThreadRanks& how, const std::function<void(Communicator&)>& body);

}  // namespace tapestry
