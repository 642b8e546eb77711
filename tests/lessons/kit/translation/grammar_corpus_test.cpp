// The grammar as a corpus, and the marks that translations of it get.
#include "lessons/kit/translation/grammar_corpus.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/lessons/kit/kept.hpp"

namespace tapestry::kit {
namespace {

bool knows(const Lexicon& lexicon, const Words& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return lexicon.contains(word); });
}

/// What a perfect model would write, each word looking at `where(word)`.
template <typename CallSite>
std::vector<Translation> perfect(const std::vector<GrammarSentence>& sentences, CallSite where) {
  std::vector<Translation> written;
  for (const GrammarSentence& sentence : sentences) {
    Translation one{sentence.source, sentence.target, {}};
    for (std::size_t j = 0; j < one.words.size(); ++j) {
      one.alignment.emplace_back(one.source.size() + 1, 0.0);
      one.alignment.back()[where(sentence, j)] = 1;
    }
    written.push_back(std::move(one));
  }
  return written;
}

/// The word's own source word, as far as the sentence marks it.
std::size_t marked(const GrammarSentence& sentence, std::size_t j) {
  for (const AdjectiveNoun& pair : sentence.pairs) {
    if (static_cast<Size>(j) == pair.target_adjective) return static_cast<std::size_t>(pair.source_adjective);
    if (static_cast<Size>(j) == pair.target_noun) return static_cast<std::size_t>(pair.source_noun);
  }
  return 0;
}

}  // namespace

TEST_CASE("the grammar's corpus has every word but the names", "[kit]") {
  const Corpus corpus = grammar_corpus(3, {.sentences = 300, .names = 0.2, .joined = 0.5});
  CHECK(corpus.train.size() == 450);
  CHECK(corpus.valid.source.size() == 200);
  for (const std::string& name : grammar_names()) {
    CHECK_FALSE(corpus.source.contains(name));
    CHECK_FALSE(corpus.target.contains(name));
  }
  std::size_t unknown = 0, longest = 0;
  for (const Pair& pair : corpus.train) {
    const auto source = std::count(pair.source.begin(), pair.source.end(), kUnk);
    CHECK(source == std::count(pair.target.begin(), pair.target.end(), kUnk));
    unknown += source > 0 ? 1 : 0;
    longest = std::max(longest, pair.source.size());
  }
  CHECK(unknown > 60);
  CHECK(longest > 20);
  for (const Words& words : corpus.valid.source) CHECK(knows(corpus.source, words));
  CHECK(corpus.source.contains("and"));
  CHECK(corpus.target.contains("et"));

  const Corpus plain = grammar_corpus(3, {.sentences = 300});
  CHECK(plain.train.size() == 300);
  for (const Pair& pair : plain.train) CHECK(std::count(pair.source.begin(), pair.source.end(), kUnk) == 0);
}

TEST_CASE("test sentences with names have one each, the same on both sides", "[kit]") {
  const Words list = grammar_names();
  const std::set<std::string> names(list.begin(), list.end());
  const auto of = [&](const Words& words) {
    std::multiset<std::string> found;
    for (const std::string& word : words)
      if (names.count(word) > 0) found.insert(word);
    return found;
  };
  for (const GrammarSentence& sentence : grammar_sentences(1, 4, GrammarSplit::fresh, 200, 0.3)) {
    CHECK_FALSE(of(sentence.source).empty());
    CHECK(of(sentence.source) == of(sentence.target));
  }
  for (const GrammarSentence& sentence : grammar_sentences(1, 4, GrammarSplit::fresh, 50))
    CHECK(of(sentence.source).empty());
  CHECK(grammar_sentences(1, 4, GrammarSplit::fresh, 1)[0].source !=
        grammar_sentences(1, 5, GrammarSplit::fresh, 1)[0].source);
}

TEST_CASE("translations of the grammar are marked", "[kit]") {
  const auto sentences = grammar_sentences(1, 0, GrammarSplit::fresh, 100);
  std::vector<Translation> written = perfect(sentences, marked);
  CHECK(score_grammar(sentences, written).exact == 100);
  CHECK(score_grammar(sentences, written).crossed == 100);
  const auto last = [](const GrammarSentence& sentence, std::size_t) { return sentence.source.size(); };
  CHECK(score_grammar(sentences, perfect(sentences, last)).exact == 100);
  CHECK(score_grammar(sentences, perfect(sentences, last)).crossed == 0);
  for (Translation& one : written) one.alignment.clear();
  CHECK(score_grammar(sentences, written).crossed == 0);
  for (std::size_t i = 0; i < 50; ++i) written[i].words.pop_back();
  CHECK(score_grammar(sentences, written).exact == 50);
  CHECK(exact_match(words_of(written), parallel(sentences).target) == 50);
}

TEST_CASE("a seed's corpus is the one that it was", "[kit]") {
  const Corpus corpus = grammar_corpus(3, {.sentences = 8, .names = 0.2, .joined = 0.5});
  std::string text = "== training ==\n";
  for (const Pair& pair : corpus.train)
    text += join_words(corpus.source.pieces(pair.source)) + "\n    " +
            join_words(corpus.target.pieces(pair.target)) + "\n";
  const auto add = [&](const char* title, const ParallelText& part) {
    text += std::string("== ") + title + " ==\n";
    for (std::size_t i = 0; i < 5; ++i)
      text += join_words(part.source[i]) + "\n    " + join_words(part.target[i]) + "\n";
  };
  add("validation", corpus.valid);
  add("test", corpus.test);
  const ParallelText tests = parallel(grammar_sentences(3, 2, GrammarSplit::fresh, 5, 0.3));
  add("with names", tests);
  CHECK(difference("kit/translation/corpus.txt", text) == "");
}

}  // namespace tapestry::kit
