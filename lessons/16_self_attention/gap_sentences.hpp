// A task of lesson 16: sentences of four words whose second one is covered, and follows from the third.
#pragma once

#include <string>
#include <vector>

#include "core/tensor/values.hpp"

namespace tapestry::kit {

/// "see _ girl run" is to be filled with "that", "see _ girls run" with "those".
struct GapSentences {
  Indices words;    ///< (B, 4): a verb, the gap, a noun, a verb
  Indices answers;  ///< (B): 0 for "that", 1 for "those"
};

/// The gap's and the noun's place.
inline constexpr Size kGap = 1, kNoun = 2;
/// By their ids.
const std::vector<std::string>& gap_vocabulary();
/// All 128 sentences of four verbs, eight nouns and four more verbs; or rather three quarters of them, or the
/// quarter that is held out. The first of these is "see _ girl run".
GapSentences gap_sentences(bool held_out);

}  // namespace tapestry::kit
