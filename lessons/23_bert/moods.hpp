// Sentences that have a mood: friendly or unfriendly.
#pragma once

#include <vector>

#include "lessons/kit/translation/grammar.hpp"

namespace tapestry::lesson23 {

/// Returns the mood of a sentence: the number of its friendly words, or minus the number of its unfriendly
/// words. Returns 0 if it has no such words, or both kinds.
int mood(const kit::GrammarSentence& sentence);

/// Returns `count` sentences, or fewer if not enough are found. Each has at least two words with a mood, all
/// of the same kind.
std::vector<kit::GrammarSentence> sentences_with_mood(std::uint64_t seed, std::uint64_t stream,
                                                      kit::GrammarSplit split, Size count);

}  // namespace tapestry::lesson23
