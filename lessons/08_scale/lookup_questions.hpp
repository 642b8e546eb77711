// Questions with one answer: which answer belongs to this key? The task of lesson 08.
#pragma once

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

struct LookupSizes {
  Size symbols;  ///< Number of symbols from which keys are drawn.
  Size keys;     ///< Number of keys in a question, at most the number of symbols.
  Size answers;  ///< Number of possible answers.
};

struct LookupQuestions {
  Indices query;          ///< (B): one of the keys.
  Indices keys;           ///< (B, keys): all different.
  Indices answer_of_key;  ///< (B, keys): the answer of each key.
  Indices answer;         ///< (B): the answer of the query's key.
};

LookupQuestions draw_lookup_questions(Random random, Size batch, const LookupSizes& sizes);

}  // namespace tapestry::kit
