// Sentences that have a mood: friendly or unfriendly.
//
// In real text, words of similar meaning tend to occur together. The grammar draws every word independently,
// so we construct such a pattern. Some adjectives, verbs, nouns and prepositions are declared friendly,
// others unfriendly. From the grammar's sentences we keep those that have at least two such words, all of the
// same kind.
#include "lessons/23_bert/moods.hpp"

#include <cstdlib>
#include <set>
#include <string>

#include "lessons/kit/translation/grammar_corpus.hpp"

namespace tapestry::lesson23 {
namespace {

const std::set<std::string> kFriendly = {"pretty", "green",  "quiet",   "open",  "loves", "love", "sings",
                                         "sing",   "friend", "friends", "music", "art",   "near"};
const std::set<std::string> kUnfriendly = {"old",   "red",  "modern", "round", "follows", "follow",
                                           "falls", "fall", "waits",  "wait",  "control", "behind"};

}  // namespace

int mood(const kit::GrammarSentence& sentence) {
  int friendly = 0, unfriendly = 0;
  for (const std::string& word : sentence.source) {
    friendly += static_cast<int>(kFriendly.count(word));
    unfriendly += static_cast<int>(kUnfriendly.count(word));
  }
  return friendly * unfriendly > 0 ? 0 : friendly - unfriendly;
}

std::vector<kit::GrammarSentence> sentences_with_mood(std::uint64_t seed, std::uint64_t stream,
                                                      kit::GrammarSplit split, Size count) {
  std::vector<kit::GrammarSentence> kept;
  for (const kit::GrammarSentence& one : kit::grammar_sentences(seed, stream, split, 12 * count + 500))
    if (std::abs(mood(one)) >= 2 && static_cast<Size>(kept.size()) < count) kept.push_back(one);
  return kept;
}

}  // namespace tapestry::lesson23
