// Message passing between the ranks of a training run. Each rank has a number and can send bytes to any other rank.
//
// There are two kinds of ranks: threads of one program (thread_ranks.hpp; for tests, lessons and experiments) and
// processes under MPI (mpi/mpi.hpp), on one machine or many. Collectives (collectives.hpp) and data parallelism
// (data_parallel.hpp) work the same on both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tensor/error.hpp"

namespace tapestry {

/// Thrown when another rank does not answer: it has died, hangs or cannot be reached. The run is over; resume it from
/// its last checkpoint.
class RankFailure : public Error {
 public:
  using Error::Error;
};

/// One rank's connection to the others. At most one thread per rank may call at a time.
class Communicator {
 public:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  /// Number of this rank, from 0 to size() − 1.
  int rank() const { return rank_; }
  /// Number of ranks.
  int size() const { return size_; }

  /// Sends `out` to rank `to` and fills `in` with the message from rank `from`. Both happen at the same time, so ranks
  /// that send to each other do not deadlock. The sender's `out` must be as long as `in`. An empty `out` is not sent,
  /// and an empty `in` is not waited for. Messages between two ranks keep their order. Throws Error if `to` or `from`
  /// is this rank or not a rank, and RankFailure if the message has not arrived within the communicator's timeout.
  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in);

  /// Exchanges numbers in the same way.
  template <class T>
  void exchange(int to, std::span<const T> out, int from, std::span<T> in) {
    exchange(to, std::as_bytes(out), from, std::as_writable_bytes(in));
  }

  /// Replaces x by the sum over all ranks with the system's own all-reduce, which may add in any order. Returns false
  /// and leaves x unchanged if there is none. Use it only for comparison with ring_all_reduce().
  virtual bool native_all_reduce(std::span<float> x);

  /// Returns true if this rank may print why the run ends. Under MPI only the first call on each machine returns true.
  virtual bool may_report() { return true; }

  /// Bytes that this rank has sent so far, in messages_sent() messages.
  std::uint64_t bytes_sent() const { return bytes_; }
  /// Messages that this rank has sent so far.
  std::uint64_t messages_sent() const { return messages_; }

 private:
  virtual void do_exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) = 0;

  int rank_, size_;
  std::uint64_t bytes_ = 0, messages_ = 0;
};

/// The only rank of a run with a single process.
class OneRank : public Communicator {
 public:
  OneRank() : Communicator(0, 1) {}

 private:
  void do_exchange(int, std::span<const std::byte>, int, std::span<std::byte>) override {}
};

}  // namespace tapestry
