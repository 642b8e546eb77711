// Ranks that are processes under MPI, on one machine or on many:
//
//     mpirun -q -n 4 program
//
// Built where CMake finds MPI (Debian: libopenmpi-dev, openmpi-bin); elsewhere run_under_mpi() gives one rank.
#pragma once

#include <cstddef>
#include <functional>

#include "optim/parallel/communicator.hpp"

namespace tapestry {

/// Whether MPI was there when this was built, and which.
bool built_with_mpi();
/// Whether mpirun has started this process, and as which rank; −1: it has not. Needs no MPI.
int rank_under_mpi();

/// How ranks that mpirun started wait for each other.
struct MpiRanks {
  /// Seconds that a rank waits for another.
  double timeout = 60;
  /// Bytes in one message of MPI at most, 4 to 2³¹ − 1 and the same on all ranks: MPI counts in int. What is longer
  /// goes in several messages.
  std::size_t piece = std::size_t{1} << 30;
};

/// Runs body(communicator) as one rank of those that mpirun started; as the only one where it started none. Returns
/// the exit code for main: 0, or what body returns. An exception becomes one sentence on standard error, and ends all
/// ranks: those that wait hear of it at once and end without another sentence. So does a rank that dies; the others
/// are told by mpirun, and one of them says so (with mpirun -q that is all that is said). Throws what body throws
/// where there is one rank alone, and if `piece` is out of its range.
int run_under_mpi(const MpiRanks& how, const std::function<int(Communicator&)>& body);

}  // namespace tapestry
