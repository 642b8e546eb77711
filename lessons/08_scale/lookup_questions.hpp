// Questions with one answer: what stands behind this key? The task of lesson 08.
#pragma once

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

struct LookupSizes {
  Size symbols;  ///< from which keys are drawn
  Size keys;     ///< of one question, at most as many as there are symbols
  Size answers;
};

struct LookupQuestions {
  Indices query;   ///< (B): one of the keys
  Indices keys;    ///< (B, keys): all different
  Indices behind;  ///< (B, keys): the answers behind the keys
  Indices answer;  ///< (B): the one behind the query
};

LookupQuestions draw_lookup_questions(Random random, Size batch, const LookupSizes& sizes);

}  // namespace tapestry::kit
