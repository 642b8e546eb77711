// Measures the cost of a ring, fits α and β, and plots both.
#pragma once

#include <vector>

#include "lessons/34_many_machines/ranks.hpp"

namespace tapestry::lesson34 {

/// α, the seconds per message, and β, the seconds per byte.
struct Link {
  double latency = 0, per_byte = 0;
};
/// Returns the seconds that a ring takes on `ranks` ranks, as the chapter defines it.
using Cost = double (*)(const Link& link, int ranks, double bytes);

struct Measured {
  std::vector<double> numbers, seconds;  ///< sizes of the rings in f32 numbers, and their times
  Link link;                             ///< the best fit to these times
};
/// Returns the latency and the time per byte that fit the times best: least squares of relative errors.
Link fit(const Measured& measured, Cost cost, int ranks);
/// Times rings over these ranks. Every rank must call it and gets rank 0's times. `native`: the system's
/// all-reduce.
Measured measure(Communicator& ranks, Cost cost, bool smoke, bool native = false);
/// Measures and draws the same between two threads. Values of `given` above 0 replace the measured ones.
Link given_or_measured(Link given, Cost cost, const kit::Options& options);
/// Draws ring.svg: the measured times and the fit.
void draw(const Measured& measured, Cost cost, int ranks, const kit::Options& options);

/// Returns the part of the communication time that a rank waits (1: all of it). There are two ranks, on a simulated
/// network so slow that communication takes half as long as a step.
double waiting_share(bool overlap, const kit::Options& options);

/// Runs the lesson under mpirun: compares the ring with MPI's all-reduce, and trains over the ring.
void run_over_mpi(Communicator& ranks, Ring by_hand, Cost cost, const kit::Options& options,
                  kit::Report& report);

}  // namespace tapestry::lesson34
