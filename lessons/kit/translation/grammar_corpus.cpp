// The built-in grammar as a corpus for translators, and how well one does on it.
#include "lessons/kit/translation/grammar_corpus.hpp"

#include <algorithm>
#include <set>

namespace tapestry::kit {
namespace {

constexpr Size kHeldBack = 200;

double percent(Size part, Size whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<GrammarSentence> sample(Random random, GrammarSplit split, Size count, double names) {
  std::vector<GrammarSentence> sentences;
  for (Size i = 0; i < count; ++i) sentences.push_back(sample_sentence(random, split, names));
  return sentences;
}

Vocabulary vocabulary(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return Vocabulary::of(words);
}

}  // namespace

Joint grammar_joint() { return {{"and"}, {"et"}}; }

ParallelText parallel(const std::vector<GrammarSentence>& sentences) {
  ParallelText text;
  for (const GrammarSentence& sentence : sentences) {
    text.source.push_back(sentence.source);
    text.target.push_back(sentence.target);
  }
  return text;
}

std::vector<GrammarSentence> grammar_sentences(std::uint64_t seed, std::uint64_t stream, GrammarSplit split,
                                               Size count, double names) {
  constexpr std::uint64_t kTestStreams = 1'000'000;  // far from the stream of training
  Random random(seed, kTestStreams + stream);
  const Words list = grammar_names();
  const std::set<std::string> is_name(list.begin(), list.end());
  std::vector<GrammarSentence> sentences;
  while (static_cast<Size>(sentences.size()) < count) {
    GrammarSentence sentence = sample_sentence(random, split, names);
    const Words& words = sentence.source;
    if (names == 0 || std::any_of(words.begin(), words.end(),
                                  [&](const std::string& word) { return is_name.count(word) > 0; }))
      sentences.push_back(std::move(sentence));
  }
  return sentences;
}

Corpus grammar_corpus(std::uint64_t seed, const GrammarCorpusOptions& options) {
  constexpr std::uint64_t kTrain = 15, kValid = 16, kTest = 17;
  const Joint joint = grammar_joint();
  Corpus corpus;
  corpus.source = vocabulary(grammar_source_words(), joint.source);
  corpus.target = vocabulary(grammar_target_words(), joint.target);
  const ParallelText train =
      parallel(sample(Random(seed, kTrain), GrammarSplit::train, options.sentences, options.names));
  corpus.train = encode_pairs(with_joined(train, options.joined, joint), corpus.source, corpus.target);
  corpus.valid = parallel(sample(Random(seed, kValid), GrammarSplit::fresh, kHeldBack, 0));
  corpus.test = parallel(sample(Random(seed, kTest), GrammarSplit::held_out, kHeldBack, 0));
  return corpus;
}

GrammarScore score_grammar(const std::vector<GrammarSentence>& sentences,
                           const std::vector<Translation>& translations) {
  Size exact = 0, pairs = 0, crossed = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const Translation& written = translations.at(i);
    const bool right = written.words == sentences[i].target;
    exact += right;
    for (const AdjectiveNoun& pair : sentences[i].pairs) {
      if (!pair.crosses()) continue;
      ++pairs;
      crossed += right && !written.alignment.empty() &&
                 looked_at(written, pair.target_adjective) == pair.source_adjective &&
                 looked_at(written, pair.target_noun) == pair.source_noun;
    }
  }
  return {percent(exact, static_cast<Size>(sentences.size())), percent(crossed, pairs)};
}

}  // namespace tapestry::kit
