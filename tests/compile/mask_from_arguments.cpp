// Mask::from takes a lambda of the indices of query and key.
#include "core/attention/block_mask.hpp"

using namespace tapestry;

#ifdef WRONG
// error 1: Mask::from: the lambda must take the indices (Size i, Size j) of query and key, and return bool
Mask one_index() {
  return Mask::from(8, 8, [](Size i) { return i > 2; });
}
// error 2: Mask::from: the lambda must take the indices (Size i, Size j) of query and key, and return bool
Mask pair() {
  return Mask::from(8, 8, [](QueryKey p) { return p.j <= p.i; });
}
// error 3: Mask::from: the lambda must take the indices (Size i, Size j) of query and key, and return bool
Mask nothing_returned() {
  return Mask::from(8, 8, [](Size i, Size j) { static_cast<void>(j <= i); });
}
#else
Mask causal() {
  Size calls = 0;
  const std::vector<bool> seen(64, true);
  return Mask::from(8, 8, [](Size i, Size j) { return j <= i; }) &
         Mask::from(8, 8, [](auto i, auto j) { return i - j < 3; }) &
         Mask::from(8, 8, [calls](Size, Size) mutable { return ++calls > 3; }) &
         Mask::from(8, 8, [&](Size i, Size j) { return seen[static_cast<std::size_t>(8 * i + j)]; });
}
#endif
