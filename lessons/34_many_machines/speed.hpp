// How fast several ranks train: measured, and beside it what the cost of a ring says, drawn for more ranks.
#pragma once

#include <vector>

#include "lessons/34_many_machines/wire.hpp"

namespace tapestry::lesson34 {

/// How far rounding alone may take weights apart in the few steps that are measured: Adam makes much of little.
inline constexpr double kRounding = 1e-4;

/// Training on some ranks, in strings a second of all of them.
struct Speed {
  int ranks = 1;
  double one_batch = 0;    ///< they share kBatch strings
  double each_batch = 0;   ///< each has as many of its own
  double answers = 0;      ///< in the last shared batch, of all ranks: as many as one rank has
  double farthest = 0;     ///< of the weights after the shared batches, from those that one rank makes
  bool same_bits = false;  ///< on all of these ranks, after either
};
struct Speeds {
  std::vector<Speed> measured;  ///< the first one's is of one rank
  double bytes = 0;             ///< of the gradients
};

/// Trains lesson 20's model on the first 1, 2, 4, … of these ranks and on all of them, while the others wait. Every
/// rank calls it; rank 0's numbers are the answer.
Speeds measure_speeds(Communicator& ranks, const kit::Options& options);
/// The same with so many threads as ranks; each computes alone.
Speeds speeds_on_threads(int ranks, const kit::Options& options);

/// How many times as fast as one rank `ranks` are, if a step takes that `step` seconds and its gradients have so many
/// bytes.
struct TimesAsFast {
  double each_batch = 1;  ///< every rank has a batch of its own, and talks while backward runs
  double after = 1;       ///< the same, but talks after backward
  double one_batch = 1;   ///< all share one batch, and talk while backward runs
};
TimesAsFast times_as_fast(const Wire& wire, int ranks, double step, double bytes, Cost cost);

/// Draws that for 1 to 1,024 ranks, and what was measured, to ranks.svg; prints some rows, and the measured ones.
void draw_speeds(const Wire& wire, const Speeds& speeds, Cost cost, const kit::Options& options);

}  // namespace tapestry::lesson34
