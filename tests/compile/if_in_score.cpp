// A score's lambda runs on many pairs at once, so it selects where a plain function would branch.
// error: cannot be used in if, ?:, && or ||; use select(condition, a, b)
#include "core/attention/score_lambda.hpp"

tapestry::ScoreMod use() {
#ifdef WRONG
  return tapestry::score_mod([](auto s, auto at) {
    if (at.i > at.j) return s;
    return s - 1;
  });
#else
  return tapestry::score_mod([](auto s, auto at) { return select(at.i > at.j, s, s - 1); });
#endif
}
