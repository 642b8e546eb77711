// A score's lambda takes a reader for each table.
// error: static assertion failed: score_mod: the lambda must take s, at
// error: static_assert failed
#include "core/attention/score_lambda.hpp"

tapestry::ScoreMod use(const tapestry::Tensor& slopes) {
#ifdef WRONG
  return tapestry::score_mod([](auto s, auto at) { return s - at.i; }, slopes);
#else
  return tapestry::score_mod([](auto s, auto at, auto slope) { return s - slope(at.h); }, slopes);
#endif
}
