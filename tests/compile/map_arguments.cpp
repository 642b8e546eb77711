// The lambda of zip takes one argument for each tensor.
// error: the lambda must take one argument (auto v) for each tensor
#include "core/tensor/map.hpp"

tapestry::Tensor use(const tapestry::Tensor& x, const tapestry::Tensor& y) {
#ifdef WRONG
  return tapestry::zip(x, y, [](auto v) { return v * v; });
#else
  return tapestry::zip(x, y, [](auto v, auto w) { return v * w; });
#endif
}
