// Ranks as processes under MPI, on one machine or many:
//
//     mpirun -q -n 4 program
//
// MPI is used where CMake finds it (Debian: libopenmpi-dev, openmpi-bin); elsewhere run_under_mpi() runs a single rank.
#pragma once

#include <cstddef>
#include <functional>

#include "optim/parallel/communicator.hpp"

namespace tapestry {

/// Returns true if this library was built with MPI.
bool built_with_mpi();
/// Returns this process's rank if mpirun started it, else −1. Works without MPI.
int rank_under_mpi();

/// Settings of ranks under MPI.
struct MpiRanks {
  /// Seconds that a rank waits for another one.
  double timeout = 60;
  /// Maximum bytes of one MPI message, from 4 to 2³¹ − 1, since MPI counts in int. It must be the same on all ranks.
  /// Longer data is sent in several messages.
  std::size_t piece = std::size_t{1} << 30;
};

/// Runs body(communicator) as one of the ranks that mpirun started, or as the only rank without mpirun. Returns the
/// exit code of body, for main(). Under mpirun, an exception or a nonzero code of one rank ends all ranks: the
/// exception is printed as one sentence on standard error, and ranks that wait end at once and print nothing. If a rank
/// dies, mpirun ends the others, and one of them prints why (with mpirun -q, that is the only output). Without mpirun,
/// exceptions of body reach the caller. Throws Error if `piece` is out of range.
int run_under_mpi(const MpiRanks& how, const std::function<int(Communicator&)>& body);

}  // namespace tapestry
