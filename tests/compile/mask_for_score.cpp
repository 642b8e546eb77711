// A mask is no tensor of scores: it cannot be passed, added or multiplied where numbers are meant.
// error: could not convert
// error: no viable conversion
// error: no matching function
// error: invalid initialization of reference
#include "core/ops/ops.hpp"

tapestry::Tensor weights(const tapestry::Tensor& scores, const tapestry::Mask& mask) {
#ifdef WRONG
  return tapestry::softmax(mask, 1);
#else
  return tapestry::masked_softmax(scores, mask);
#endif
}
