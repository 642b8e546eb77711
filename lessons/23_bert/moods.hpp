// Sentences that have a mood.
#pragma once

#include <vector>

#include "lessons/kit/translation/grammar.hpp"

namespace tapestry::lesson23 {

/// How friendly: above 0 for a sentence with so many friendly words and no unfriendly ones, below 0 the other
/// way round; 0 with none, or with both kinds.
int mood(const kit::GrammarSentence& sentence);

/// So many sentences with at least two words of mood, all of one kind, or as many as are found.
std::vector<kit::GrammarSentence> moody(std::uint64_t seed, std::uint64_t stream, kit::GrammarSplit split,
                                        Size count);

}  // namespace tapestry::lesson23
