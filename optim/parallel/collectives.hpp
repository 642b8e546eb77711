// Collective operations, built on Communicator::exchange(). Every rank must make the same calls in the same order. They
// throw RankFailure as exchange() does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/state.hpp"
#include "optim/parallel/communicator.hpp"

namespace tapestry {

/// Replaces x by the sum of all ranks' x (ring all-reduce: Patarasuk & Yuan 2009). x must have the same length on every
/// rank. The result has the same bits on every rank and in every run with R ranks, since the order of the sums depends
/// only on the length and R. Each rank sends 2 (R − 1) / R of x to its right neighbour, in 2 (R − 1) messages.
void ring_all_reduce(Communicator& ranks, std::span<float> x);
void ring_all_reduce(Communicator& ranks, std::span<double> x);

/// Copies the bytes of rank `root` to all ranks, in ⌈log₂ R⌉ rounds: the number of ranks that have them doubles in
/// each. Throws Error if root is not a rank.
void broadcast(Communicator& ranks, std::span<std::byte> bytes, int root = 0);
/// Copies the tensors of rank `root` to all ranks. They must be dense, with the same names and shapes on every rank.
void broadcast(Communicator& ranks, const State& state, int root = 0);
/// Returns the value of rank `root` on every rank.
std::uint64_t broadcast(Communicator& ranks, std::uint64_t value, int root = 0);

/// Returns every rank's text on rank `root`, in the order of the ranks; the other ranks get an empty vector. Throws
/// Error if root is not a rank.
std::vector<std::string> gather(Communicator& ranks, std::string_view text, int root = 0);

/// Waits until all ranks have called it.
void barrier(Communicator& ranks);

/// Returns true on every rank if all ranks' tensors have the same names, shapes and bits. Compares 64-bit hashes.
bool same_on_all_ranks(Communicator& ranks, const State& state);

}  // namespace tapestry
