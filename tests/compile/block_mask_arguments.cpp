// BlockMask::where takes a lambda of a pair, or of the indices of query and key.
// error: the lambda must take a QueryKey p, with p.b, p.h, p.i and p.j, or the indices (Size i, Size j)
#include "core/attention/block_mask.hpp"

tapestry::BlockMask use() {
  using namespace tapestry;
#ifdef WRONG
  return BlockMask::where(8, 8, [](Size, Size, Size i, Size j) { return j <= i; });
#else
  return BlockMask::where(8, 8, [](Size i, Size j) { return j <= i; }) &
         BlockMask::where(8, 8, [](QueryKey p) { return p.j + 2 > p.i; });
#endif
}
