// Scores are no mask: which sign would mean "may attend"?
// error: no matching function
// error: no viable conversion
// error: invalid initialization of reference
#include "core/ops/ops.hpp"

tapestry::Tensor weights(const tapestry::Tensor& scores, const tapestry::Mask& mask) {
#ifdef WRONG
  return tapestry::masked_softmax(mask, scores);
#else
  return tapestry::masked_softmax(scores, mask);
#endif
}
