#include "optim/parallel/communicator.hpp"

namespace tapestry {

void Communicator::exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) {
  for (const int other : {to, from})
    if (other < 0 || other >= size_)
      fail("rank {0}: to and from must be at least 0 and below {2}, the number of ranks, got {1}", rank_,
           other, size_);
  if (to == rank_ || from == rank_) fail("rank {}: to and from must be other ranks, got this rank", rank_);
  if (!out.empty()) {
    ++messages_;
    bytes_ += out.size();
  }
  if (!out.empty() || !in.empty()) do_exchange(to, out, from, in);
}

bool Communicator::native_all_reduce(std::span<float>) { return false; }

}  // namespace tapestry
