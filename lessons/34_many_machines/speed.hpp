// Measures how fast several ranks train, compares that with the predicted cost of a ring, and plots both.
#pragma once

#include <vector>

#include "lessons/34_many_machines/wire.hpp"

namespace tapestry::lesson34 {

/// Largest difference of weights that rounding may cause in the few measured steps. Adam amplifies small
/// differences.
inline constexpr double kRounding = 1e-4;

/// Training speed on some ranks, in strings per second of all ranks together.
struct Speed {
  int ranks = 1;
  double one_batch = 0;    ///< the ranks share a batch of kBatch strings
  double each_batch = 0;   ///< each rank has a batch of kBatch strings
  double answers = 0;      ///< answers in the last shared batch, of all ranks: as many as one rank has alone
  double farthest = 0;     ///< largest difference of the weights after shared batches from one rank's weights
  bool same_bits = false;  ///< all ranks have the same bits, in both cases
};
struct Speeds {
  std::vector<Speed> measured;  ///< the first element is for one rank
  double bytes = 0;             ///< size of the gradients
};

/// Trains lesson 20's model on the first 1, 2, 4, … of these ranks and on all of them, while the other ranks
/// wait. Every rank must call it. Only rank 0's result is complete.
Speeds measure_speeds(Communicator& ranks, const kit::Options& options);
/// Measures the same with `ranks` threads. Each rank computes with one thread.
Speeds speeds_on_threads(int ranks, const kit::Options& options);

/// Predicted speed-up of `ranks` ranks over one rank, if one rank needs `step` seconds per step and the
/// gradients have `bytes` bytes.
struct TimesAsFast {
  double each_batch = 1;  ///< every rank has a batch, and sends during backward
  double after = 1;       ///< every rank has a batch, and sends after backward
  double one_batch = 1;   ///< all ranks share one batch, and send during backward
};
TimesAsFast times_as_fast(const Wire& wire, int ranks, double step, double bytes, Cost cost);

/// Draws ranks.svg: predictions for 1 to 1,024 ranks and the measurements. Prints some rows of each.
void draw_speeds(const Wire& wire, const Speeds& speeds, Cost cost, const kit::Options& options);

}  // namespace tapestry::lesson34
