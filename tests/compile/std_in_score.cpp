// A score's lambda calls functions without std::, since its numbers are no double. The last line says so.
// error: call functions without std::, as in tanh(s)
#include <cmath>

#include "core/attention/score_lambda.hpp"

tapestry::ScoreMod use() {
#ifdef WRONG
  return tapestry::score_mod([](auto s, auto) { return std::tanh(s); });
#else
  return tapestry::score_mod([](auto s, auto at) { return tanh(s) + cos(at.i) * pow(s, 2) - at.h % 2; });
#endif
}
