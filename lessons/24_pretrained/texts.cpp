// The texts of lesson 24: sentences of the grammar as strings and as ids, and texts to show.
#include "lessons/24_pretrained/lesson24.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "nn/text/words.hpp"

namespace tapestry::lesson24 {

PairsOfTexts texts_of(const std::vector<kit::GrammarSentence>& sentences) {
  PairsOfTexts texts;
  for (const kit::GrammarSentence& one : sentences) {
    texts.english.push_back(join_words(one.source));
    texts.french.push_back(join_words(one.target));
  }
  return texts;
}

std::vector<Ids> encode_all(const WordPiece& pieces, const std::vector<std::string>& texts) {
  std::vector<Ids> rows;
  for (const std::string& text : texts) rows.push_back(pieces.encode(text));
  return rows;
}

std::vector<std::string> shown_texts(bool published, std::uint64_t seed) {
  if (published)
    return {"How do I reset my password?",    "I forgot my login. Help!",    "A man plays the guitar.",
            "Someone makes music.",           "The cat sleeps on the sofa.", "A kitten naps on the couch.",
            "The bank raised interest rates."};
  std::vector<kit::GrammarSentence> some;
  for (const kit::GrammarSentence& one : kit::grammar_sentences(seed, 26, kit::GrammarSplit::held_out, 200))
    if (some.size() < 4 && one.source.size() <= 5) some.push_back(one);
  PairsOfTexts texts = texts_of(some);
  texts.english.insert(texts.english.end(), texts.french.begin(), texts.french.end());
  return texts.english;
}

}  // namespace tapestry::lesson24
