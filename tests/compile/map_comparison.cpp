// A comparison in a lambda of map is one bool for each element, and the result is a tensor of numbers.
// error: the lambda must return values, not a comparison
#include "core/tensor/map.hpp"

tapestry::Tensor use(const tapestry::Tensor& x) {
#ifdef WRONG
  return tapestry::map(x, [](auto v) { return v > 0; });
#else
  return tapestry::map(x, [](auto v) { return select(v > 0, v, 0); });
#endif
}
