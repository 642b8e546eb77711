// Ranks as threads of one program, connected by simulated wires with an optional latency and bandwidth limit.
//
//     run_on_threads({.ranks = 4}, [](Communicator& ranks) { … });
#pragma once

#include <functional>
#include <vector>

#include "optim/parallel/communicator.hpp"

namespace tapestry {

/// Number of ranks, timeout and simulated wire.
struct ThreadRanks {
  int ranks = 2;  // 1 to 64
  /// Seconds that a rank waits for another one.
  double timeout = 60;
  /// Time of a message on the wire: `latency` seconds, plus `per_byte` seconds for each byte. 0: no delay.
  double latency = 0, per_byte = 0;
};

/// Runs body(communicator) on `how.ranks` threads, as ranks 0, 1, …, and returns when all have ended. If ranks throw,
/// rethrows the exception that was thrown first, since it causes the RankFailure of the others. Ranks that wait for a
/// rank that has ended throw RankFailure. Throws Error if ranks is not from 1 to 64.
void run_on_threads(const ThreadRanks& how, const std::function<void(Communicator&)>& body);

}  // namespace tapestry
