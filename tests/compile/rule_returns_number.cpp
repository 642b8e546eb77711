// A derivative rule returns a tensor.
// error: op: the rule of wrt(x, rule) must return a Tensor, the gradient of x
#include "core/tape/op.hpp"

tapestry::Tensor identity(const tapestry::Tensor& x, tapestry::CallSite at = {}) {
#ifdef WRONG
  return tapestry::op<"identity">(at, x.detach(),
                                  tapestry::wrt(x, [](const tapestry::Tensor&) { return "dy"; }));
#else
  return tapestry::op<"identity">(at, x.detach(),
                                  tapestry::wrt(x, [](const tapestry::Tensor& dy) { return dy; }));
#endif
}

tapestry::Tensor use(const tapestry::Tensor& x) { return identity(x); }
