// Masks do no arithmetic: −10⁹ · (1 − mask) is not how places are taken out here.
// error: no match for
// error: invalid operands to binary expression
#include "core/ops/ops.hpp"

tapestry::Tensor weights(const tapestry::Tensor& scores, const tapestry::Mask& mask) {
#ifdef WRONG
  return tapestry::softmax(scores - 1e9 * mask, 1);
#else
  return tapestry::masked_softmax(scores, mask);
#endif
}
