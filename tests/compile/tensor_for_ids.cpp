// Numbers are no token ids, even if they happen to be whole.
// error: no matching function
// error: no viable conversion
// error: invalid initialization of reference
#include "core/ops/ops.hpp"

tapestry::Tensor look_up(const tapestry::Tensor& table, [[maybe_unused]] const tapestry::Tensor& numbers,
                         const tapestry::Indices& ids) {
#ifdef WRONG
  return tapestry::embedding(table, numbers);
#else
  return tapestry::embedding(table, ids);
#endif
}
