// The built-in grammar as a corpus for translators, and how well one does on it.
#pragma once

#include <vector>

#include "lessons/kit/translation/corpus.hpp"
#include "lessons/kit/translation/grammar.hpp"

namespace tapestry::kit {

struct GrammarCorpusOptions {
  /// Sentences to train on, before some are joined.
  Size sentences = 20000;
  /// Probability that a phrase is a name. No name is in the vocabularies.
  double names = 0;
  /// So many sentences more, as a share, joined by "and" in twos and threes.
  double joined = 0;
};

/// "and", "et"
Joint grammar_joint();

/// Both sides of sentences.
ParallelText parallel(const std::vector<GrammarSentence>& sentences);

/// Training sentences of `seed`; validation is fresh sentences, test is held-out ones, 200 each. The
/// vocabularies hold every word but the names.
Corpus grammar_corpus(std::uint64_t seed, const GrammarCorpusOptions& options = {});

/// Sentences to test on, another list for each `stream`. With `names`, each has at least one.
std::vector<GrammarSentence> grammar_sentences(std::uint64_t seed, std::uint64_t stream, GrammarSplit split,
                                               Size count, double names = 0);

/// How good translations of the grammar's sentences are, in per cent.
struct GrammarScore {
  double exact = 0;    ///< of sentences
  double crossed = 0;  ///< of adjective–noun pairs that French turns round: each word looked at its own; a
                       ///< sentence that is not exact counts as not crossed
};
GrammarScore score_grammar(const std::vector<GrammarSentence>& sentences,
                           const std::vector<Translation>& translations);

}  // namespace tapestry::kit
