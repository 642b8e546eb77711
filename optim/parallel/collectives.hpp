// What all ranks do together, made of hand-overs. Every rank makes the same calls in the same order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/state.hpp"
#include "optim/parallel/communicator.hpp"

namespace tapestry {

/// x becomes the sum of all ranks' x, the same bits on each of them, and the same in every run with as many
/// ranks: the order of the sums follows from the length and the number of ranks alone. Each rank hands
/// 2 (R − 1) / R of x to its right neighbour, in 2 (R − 1) messages, however many there are (ring all-reduce:
/// Patarasuk & Yuan 2009).
void ring_all_reduce(Communicator& ranks, std::span<float> x);
void ring_all_reduce(Communicator& ranks, std::span<double> x);

/// All ranks get the bytes of rank `root`: in the first round one rank tells another, then two tell two.
void broadcast(Communicator& ranks, std::span<std::byte> bytes, int root = 0);
/// All tensors of `state`, dense and of the same shapes everywhere, become those of rank `root`.
void broadcast(Communicator& ranks, const State& state, int root = 0);
/// A number that the root has.
std::uint64_t broadcast(Communicator& ranks, std::uint64_t value, int root = 0);

/// Rank `root` gets every rank's text, in the order of the ranks; the others get nothing.
std::vector<std::string> gather(Communicator& ranks, std::string_view text, int root = 0);

/// Nobody returns before all have come.
void barrier(Communicator& ranks);

/// Whether all ranks' tensors are the same, bit for bit. All get the same answer.
bool same_on_all_ranks(Communicator& ranks, const State& state);

}  // namespace tapestry
