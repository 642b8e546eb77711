// The texts of lesson 23: two languages in one dictionary, and sentences with a mood.
#include <cstdlib>
#include <set>

#include "lessons/23_bert/moods.hpp"
#include "lessons/23_bert/text.hpp"
#include "tests/catch.hpp"

namespace tapestry::lesson23 {

TEST_CASE("no word of one language has the id of a word of the other", "[kit]") {
  const Dictionary dictionary;
  std::set<std::int64_t> english, french;
  for (const std::string& word : kit::grammar_source_words())
    english.insert(dictionary.read({word}, {}).words[1]);
  for (const std::string& word : kit::grammar_target_words())
    french.insert(dictionary.read({}, {word}).words[1]);
  CHECK(english.size() == kit::grammar_source_words().size());
  CHECK(french.size() == kit::grammar_target_words().size());
  for (const std::int64_t id : french) CHECK(english.count(id) == 0);
  CHECK(english.count(kUnk) + french.count(kUnk) == 0);
  CHECK(dictionary.mask == dictionary.words.size() - 1);

  const GrammarSentence zone = kit::grammar_showcase();
  const Row row = dictionary.read(zone.source, zone.target);
  CHECK(dictionary.text(row) ==
        "<start> the zone of international control <end> la zone/fr de contrôle international/fr <end>");
  CHECK(row.segments == Ids{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  CHECK(row.answers == Ids(13, kNone));
}

TEST_CASE("rows of different lengths are padded, and ask for nothing there", "[kit]") {
  const Dictionary dictionary;
  Row both = dictionary.read({"the", "cat"}, {"le", "chat"}), one = dictionary.read({}, {"le", "chat"});
  one.answers[1] = one.words[1];
  const Batch batch = batch_of({both, one});
  CHECK(batch.words.shape() == Dims{2, 7});
  CHECK(batch.lengths[0] == 7);
  CHECK(batch.lengths[1] == 4);
  CHECK(batch.answers.columns(4, 7).to_vector() == Ids(6, kNone));
  CHECK(batch.answers.column(1).to_vector() == Ids{kNone, one.words[1]});
}

TEST_CASE("sentences with a mood have two words of it at least, and none of the other", "[kit]") {
  const auto sentences = sentences_with_mood(4, 2, kit::GrammarSplit::train, 200);
  CHECK(sentences.size() == 200);
  int friendly = 0;
  for (const GrammarSentence& one : sentences) {
    CHECK(std::abs(mood(one)) >= 2);
    friendly += mood(one) > 0;
  }
  CHECK(friendly > 40);
  CHECK(friendly < 160);
  CHECK(mood({{"the", "quiet", "cat", "sings"}, {}, {}}) == 2);
  CHECK(mood({{"the", "quiet", "cat", "waits"}, {}, {}}) == 0);
}

}  // namespace tapestry::lesson23
