// What a ring costs: measured, fitted by two numbers, and drawn for more ranks than there are.
#pragma once

#include <vector>

#include "lessons/34_many_machines/ranks.hpp"

namespace tapestry::lesson34 {

/// Seconds a message, and seconds a byte.
struct Wire {
  double latency = 0, per_byte = 0;
};
/// Seconds of a ring over so many ranks, as the chapter says it.
using Cost = double (*)(const Wire& wire, int ranks, double bytes);

struct Measured {
  std::vector<double> numbers, seconds;  ///< of rings of so many numbers (f32)
  Wire wire;                             ///< as it fits them best
};
/// Rings over these ranks; every rank calls it, and gets rank 0's times. `native`: the system's own all-reduce.
Measured measure(Communicator& ranks, Cost cost, bool smoke, bool native = false);
/// The same between two threads, drawn; what is given (above 0) replaces what was measured.
Wire measured_or(Wire given, Cost cost, const kit::Options& options);
/// Draws times and what the two numbers say to ring.svg.
void draw(const Measured& measured, Cost cost, int ranks, const kit::Options& options);

/// How much of the talk two ranks have to wait for, 1: all of it, on a wire so slow that talk takes half as long as a
/// step.
double waited_share(bool overlap, const kit::Options& options);

/// The lesson as mpirun runs it: the ring beside MPI's, and training over it.
void over_mpi(Communicator& ranks, Ring by_hand, Cost cost, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson34
