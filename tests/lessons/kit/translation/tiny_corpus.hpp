// Three pairs of sentences that tests of translators train on.
#pragma once

#include "lessons/kit/translation/corpus.hpp"

namespace tapestry::kit {

inline Corpus tiny_corpus() {
  const ParallelText text = {{{"a", "b"}, {"b", "c", "d"}, {"c"}}, {{"x"}, {"y", "z", "x"}, {"z", "z"}}};
  Corpus corpus;
  corpus.source = Vocabulary::build(text.source);
  corpus.target = Vocabulary::build(text.target);
  corpus.train = encode_pairs(text, corpus.source, corpus.target);
  corpus.valid = corpus.test = text;
  return corpus;
}

}  // namespace tapestry::kit
