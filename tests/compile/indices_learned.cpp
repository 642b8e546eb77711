// A score reads whole numbers as they are; it cannot learn them.
// error: whole numbers cannot be learned
#include "core/attention/score_lambda.hpp"

tapestry::ScoreMod same_document(const tapestry::Indices& documents) {
  const auto f = [](auto s, auto at, auto document) {
    return select(document(at.b, at.i) == document(at.b, at.j), s, s - 1);
  };
#ifdef WRONG
  return tapestry::score_mod(f, tapestry::learned(documents));
#else
  return tapestry::score_mod(f, documents);
#endif
}
