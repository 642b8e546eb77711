// A score's lambda reads tables; it does not calculate with a tensor that it captured.
// error: a score's lambda must not compute with tensors that it captured; pass the tensor to
#include "core/attention/score_lambda.hpp"

tapestry::ScoreMod use(const tapestry::Tensor& w) {
#ifdef WRONG
  return tapestry::score_mod([w](auto s, auto) { return s * w; });
#else
  return tapestry::score_mod([](auto s, auto at, auto w_at) { return s * w_at(at.h); }, tapestry::learned(w));
#endif
}
