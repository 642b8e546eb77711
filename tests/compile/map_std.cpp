// A lambda of map calls functions without std::, since its argument is many elements at once. The last line says so.
// error: call functions without std::, as in exp(v)
#include <cmath>

#include "core/tensor/map.hpp"

tapestry::Tensor use(const tapestry::Tensor& x) {
#ifdef WRONG
  return tapestry::map(x, [](auto v) { return std::exp(v); });
#else
  return tapestry::map(x, [](auto v) { return exp(v) + 1; });
#endif
}
