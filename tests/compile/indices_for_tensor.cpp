// Token ids are not numbers to calculate with.
// error: no match for
// error: invalid operands to binary expression
#include "core/ops/ops.hpp"

using namespace tapestry;

Tensor sum_of(const Tensor& x, [[maybe_unused]] const Indices& ids);
Tensor sum_of(const Tensor& x, [[maybe_unused]] const Indices& ids) {
#ifdef WRONG
  return x + ids;
#else
  return x + x;
#endif
}
