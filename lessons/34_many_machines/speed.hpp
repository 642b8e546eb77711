// Measures how fast several ranks train, compares that with the predicted cost of a ring, and plots both.
#pragma once

#include <vector>

#include "lessons/34_many_machines/link_cost.hpp"

namespace tapestry::lesson34 {

/// Largest difference of weights that rounding may cause in the few measured steps. Adam amplifies small
/// differences.
inline constexpr double kRounding = 1e-4;

/// Training speed on some ranks, in strings per second of all ranks together.
struct Speed {
  int ranks = 1;
  double shared_batch = 0;  ///< if the ranks share a batch of kBatch strings
  double own_batch = 0;     ///< if each rank has a batch of kBatch strings
  double answers = 0;       ///< answers in the last shared batch, on all ranks together
  /// Largest difference between the weights after shared batches and those of one rank.
  double max_difference = 0;
  bool same_bits = false;  ///< the weights of all ranks have the same bits, in both cases
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
struct SpeedUp {
  double own_batch = 1;     ///< every rank has a batch, and sends during backward
  double after = 1;         ///< every rank has a batch, and sends after backward
  double shared_batch = 1;  ///< all ranks share one batch, and send during backward
};
SpeedUp predicted_speed_up(const Link& link, int ranks, double step, double bytes, Cost cost);

/// Draws ranks.svg: predictions for 1 to 1,024 ranks and the measurements. Prints some rows of each.
void draw_speeds(const Link& link, const Speeds& speeds, Cost cost, const kit::Options& options);

}  // namespace tapestry::lesson34
