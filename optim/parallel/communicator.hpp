// Ranks that work on one training run: each has a number, and can hand bytes to any other.
//
// Two kinds: threads of one program (thread_ranks.hpp; for tests, lessons and trials) and processes under MPI
// (mpi/mpi.hpp), on one machine or many. What is made of hand-overs (collectives.hpp, data_parallel.hpp) is the
// same for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tensor/error.hpp"

namespace tapestry {

/// A rank that is waited for does not answer: it has died, hangs, or cannot be reached. The run is over; go on
/// from its checkpoint.
class RankFailure : public Error {
 public:
  using Error::Error;
};

/// One rank's end of the wire. Of one rank only one thread may be in a call at a time.
class Communicator {
 public:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  /// Its own number, rank(), from 0 to size() − 1.
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Hands `out` to rank `to` and fills `in` with what rank `from` hands to this one, both at once: each rank
  /// may send before it receives, and nobody waits for ever. The other's `out` must be as long as `in`; an
  /// empty one is not sent, nor waited for. Between two ranks messages keep their order. Throws RankFailure when
  /// nothing has come after the communicator's timeout.
  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in);

  /// The same for numbers.
  template <class T>
  void exchange(int to, std::span<const T> out, int from, std::span<T> in) {
    exchange(to, std::as_bytes(out), from, std::as_writable_bytes(in));
  }

  /// x becomes the sum over all ranks by the system's own all-reduce, which may add in any order; false, and x
  /// is as before, where there is none. For comparison with ring_all_reduce().
  virtual bool native_all_reduce(std::span<float> x);

  /// Whether this rank is the one that tells why the run ends: true once a run, for the first that asks on its machine.
  virtual bool may_speak() { return true; }

  /// What this rank has handed over so far: bytes_sent(), in messages_sent().
  std::uint64_t bytes_sent() const { return bytes_; }
  std::uint64_t messages_sent() const { return messages_; }

 private:
  virtual void hand_over(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) = 0;

  int rank_, size_;
  std::uint64_t bytes_ = 0, messages_ = 0;
};

/// The only rank: what a program is that nobody started as one of several.
class OneRank : public Communicator {
 public:
  OneRank() : Communicator(0, 1) {}

 private:
  void hand_over(int, std::span<const std::byte>, int, std::span<std::byte>) override {}
};

}  // namespace tapestry
