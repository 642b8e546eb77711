// A reader of a score's lambda is called, with an index for each axis.
// error: static assertion failed: a reader must be called with one index for each axis
// error: static_assert failed
#include "core/attention/score_lambda.hpp"

tapestry::ScoreMod use(const tapestry::Tensor& slopes) {
#ifdef WRONG
  return tapestry::score_mod([](auto s, auto at, auto slope) { return s - slope[at.h]; }, slopes);
#else
  return tapestry::score_mod([](auto s, auto at, auto slope) { return s - slope(at.h); }, slopes);
#endif
}
