// Sentences of four words with a gap in second place; the third word decides what fills the gap. For lesson 16.
#include "lessons/16_self_attention/gap_sentences.hpp"

namespace tapestry::kit {

const std::vector<std::string>& gap_vocabulary() {
  static const std::vector<std::string> words = {"_",     "see", "hear", "watch", "help", "girl",
                                                 "boy",   "dog", "bird", "girls", "boys", "dogs",
                                                 "birds", "run", "sing", "jump",  "sleep"};
  return words;
}

GapSentences gap_sentences(bool held_out) {
  constexpr std::int64_t kCovered = 0, kVerb = 1, kNounWord = 5,
                         kLastVerb = 13;  // the first id of each group
  std::vector<std::int64_t> words, answers;
  for (std::int64_t first = 0; first < 4; ++first)
    for (std::int64_t noun = 0; noun < 8; ++noun)
      for (std::int64_t last = 0; last < 4; ++last) {
        if (((first + noun + last) % 4 == 0) != held_out) continue;
        words.insert(words.end(), {kVerb + first, kCovered, kNounWord + noun, kLastVerb + last});
        answers.push_back(noun < 4 ? 0 : 1);  // four nouns in the singular, then four in the plural
      }
  const auto rows = static_cast<Size>(answers.size());
  return {Indices(words, {rows, 4}), Indices(answers, {rows})};
}

}  // namespace tapestry::kit
