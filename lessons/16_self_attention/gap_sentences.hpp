// Sentences of four words with a gap in second place; the third word decides what fills the gap. For lesson 16.
#pragma once

#include <string>
#include <vector>

#include "core/tensor/indices.hpp"

namespace tapestry::kit {

/// "that" fills the gap in "see _ girl run", and "those" in "see _ girls run".
struct GapSentences {
  Indices words;    ///< (B, 4): a verb, the gap, a noun, a verb
  Indices answers;  ///< (B): 0 for "that", 1 for "those"
};

/// The positions of the gap and of the noun.
inline constexpr Size kGap = 1, kNoun = 2;
/// Returns the words in the order of their ids.
const std::vector<std::string>& gap_vocabulary();
/// There are 128 sentences, from four verbs, eight nouns and four more verbs. Returns the quarter that is held
/// out for the test, or the other three quarters. The first of the held-out sentences is "see _ girl run".
GapSentences gap_sentences(bool held_out);

}  // namespace tapestry::kit
