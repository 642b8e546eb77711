// Softmax has no default axis: the wrong one still runs.
// error: too few arguments to function
// error: no matching function
#include "core/ops/ops.hpp"

tapestry::Tensor weights(const tapestry::Tensor& scores) {
#ifdef WRONG
  return tapestry::softmax(scores);
#else
  return tapestry::softmax(scores, -1);
#endif
}
