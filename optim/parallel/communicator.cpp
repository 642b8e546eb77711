#include "optim/parallel/communicator.hpp"

namespace tapestry {

void Communicator::exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) {
  for (const int other : {to, from})
    if (other < 0 || other >= size_) fail("rank {}: there is no rank {} among {}", rank_, other, size_);
  if (to == rank_ || from == rank_) fail("rank {} cannot hand anything to itself", rank_);
  if (!out.empty()) {
    ++messages_;
    bytes_ += out.size();
  }
  if (!out.empty() || !in.empty()) hand_over(to, out, from, in);
}

bool Communicator::native_all_reduce(std::span<float>) { return false; }

}  // namespace tapestry
