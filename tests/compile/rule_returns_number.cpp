// A derivative rule returns a tensor.
// error: no match for
// error: no viable overloaded
// error: cannot convert
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
