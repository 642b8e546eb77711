// Sentences that are too long: left out of training, cut where they are translated, and named.
#include "lessons/kit/text/long_lines.hpp"

#include "lessons/kit/random.hpp"
#include "lessons/kit/translation/corpus.hpp"
#include "lessons/kit/translation/transformer_config.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

/// Letters that no byte pair joins.
std::string random_word(std::size_t letters) {
  Random random(letters);
  std::string word;
  for (std::size_t i = 0; i < letters; ++i) word += static_cast<char>('a' + random.below(26));
  return word;
}

std::string words(std::size_t count) {
  std::string line;
  for (std::size_t i = 0; i < count; ++i) line += "b ";
  return line;
}

/// A folder of Multi30k's form with these lines of English; the French of each line is "un chat".
void write_corpus(const Scratch& scratch, const std::vector<std::string>& train,
                  const std::vector<std::string>& tests) {
  for (const char* part : {"train", "val", "test_2016_flickr"}) {
    std::string english, french;
    for (const std::string& line : part == std::string("train") ? train : tests) {
      english += line + '\n';
      french += "un chat\n";
    }
    scratch.write(part + std::string(".en"), english);
    scratch.write(part + std::string(".fr"), french);
  }
}

}  // namespace

TEST_CASE("pairs that are too long are left out of training, and named", "[kit]") {
  const Scratch scratch;
  write_corpus(scratch,
               {"a cat", random_word(450) + " " + random_word(449), "a b a cat", random_word(90000),
                words(500), words(501), "a cat"},
               {"a cat", words(600), random_word(600)});
  for (const Size merges : {0, 20}) {
    CAPTURE(merges);
    const Corpus corpus = read_multi30k(scratch.folder(), "en", "fr", {.at_least = 1, .merges = merges});
    // The second is two words, but too many pieces.
    CHECK(corpus.train.size() == (merges == 0 ? 5 : 4));
    for (const Pair& pair : corpus.train) CHECK(static_cast<Size>(pair.source.size()) <= kMostPieces + 1);
    CHECK(corpus.source.vocabulary().size() < 100);
    CHECK(corpus.test.source.size() == 3);
    REQUIRE(corpus.notes.size() == 3);
    CHECK_THAT(corpus.notes[0],
               ContainsSubstring((scratch.path("train.en").string() +
                                  (merges == 0 ? ":4 and 1 more line have" : ":4 and 2 more lines have"))) &&
                   ContainsSubstring("left out of the training set"));
    CHECK_THAT(corpus.notes[1],
               ContainsSubstring(scratch.path("val.en").string() + ":2 and 1 more line have") &&
                   ContainsSubstring("only the beginning"));
    CHECK_THAT(corpus.text(), ContainsSubstring("\n  " + corpus.notes[2]));
  }
  // Joined sentences do not get round it.
  const Corpus joined = read_multi30k(scratch.folder(), "en", "fr", {.at_least = 1, .joined = 1});
  CHECK(joined.train.size() > 5);
  for (const Pair& pair : joined.train) CHECK(static_cast<Size>(pair.source.size()) <= kMostPieces + 1);

  // The other language is looked at, too.
  const Corpus other = read_multi30k(scratch.folder(), "fr", "en", {.at_least = 1});
  CHECK(other.train.size() == 5);
  CHECK_THAT(other.notes.at(0), ContainsSubstring("train.en:4 and 1 more line have"));
  CHECK(other.notes.size() == 1);

  write_corpus(scratch, {words(501)}, {"a cat"});
  CHECK_THAT(usage_error([&] { read_multi30k(scratch.folder(), "en", "fr"); }),
             ContainsSubstring("train.en:1 has more than 500 words") && ContainsSubstring("no pair is left"));
}

TEST_CASE("ordinary text has no notes", "[kit]") {
  const Scratch scratch;
  write_corpus(scratch, {"a cat", words(500)}, {"a cat"});
  const Corpus corpus = read_multi30k(scratch.folder(), "en", "fr", {.at_least = 1});
  CHECK(corpus.train.size() == 2);
  CHECK(corpus.notes.empty());
  CHECK(LongLines().text("x").empty());
}

TEST_CASE("of a sentence that is too long the beginning is translated", "[kit]") {
  const Lexicon lexicon = Lexicon::learn({{"a", "b", "ab"}, {"b", "é"}}, 1, 2);
  const auto model =
      make_translator({.layers = 1, .width = 8, .heads = 2, .hidden = 8}, lexicon.size(), lexicon.size());
  model->initialise(3);
  const std::vector<Words> hostile = {{"a"}, {random_word(100000)},        Words(9999, "b"), {},
                                      {"b"}, {std::string(499, 'a') + "é"}};
  const auto written = translate(*model, lexicon, lexicon, hostile, {.max_length = 4});
  REQUIRE(written.size() == hostile.size());
  CHECK(written[1].source == Words{hostile[1][0].substr(0, kMostBytesInWord)});
  CHECK(written[2].source == Words(static_cast<std::size_t>(kMostPieces), "b"));
  CHECK(written[3].words.empty());
  CHECK(written[4].source == Words{"b"});
  CHECK(written[5].source == hostile[5]);  // whole characters
  for (const Translation& each : written)
    for (const auto& row : each.alignment) CHECK(row.size() == each.source.size() + 1);
  CHECK(words_of({written[0], written[4]}) ==
        words_of(translate(*model, lexicon, lexicon, {{"a"}, {"b"}}, {.max_length = 4})));
}

TEST_CASE("a sentence is too long from one word or one byte more on", "[kit]") {
  const auto most = static_cast<std::size_t>(kMostPieces);
  CHECK_FALSE(too_long(Words(most, "a")));
  CHECK(too_long(Words(most + 1, "a")));
  CHECK_FALSE(too_long({"a", std::string(kMostBytesInWord, 'x')}));
  CHECK(too_long({"a", std::string(kMostBytesInWord + 1, 'x')}));
}

TEST_CASE("the beginning of a word that is too long is read, where words are not cut into pieces", "[kit]") {
  const Lexicon whole_words = Vocabulary::of({"a", "b"});
  const std::string fits(kMostBytesInWord, 'x');
  CHECK(first_pieces(whole_words, {"a", fits, fits + "y", "b"}) == Words{"a", fits, fits, "b"});
  CHECK(first_pieces(whole_words, {std::string(499, 'x') + "éé"}) == Words{std::string(499, 'x') + "é"});
  CHECK(first_pieces(whole_words, Words(9999, "b")).size() == static_cast<std::size_t>(kMostPieces));
}

TEST_CASE("of words that are short enough, but too many pieces, the first pieces are read", "[kit]") {
  const Lexicon lexicon = Lexicon::learn({{"a", "b", "ab"}, {"b", "é"}}, 1, 2);
  const Words sentence = {random_word(450), random_word(449)};
  Words pieces = lexicon.split(sentence);
  const auto most = static_cast<std::size_t>(kMostPieces);
  REQUIRE(pieces.size() > most);
  pieces.resize(most);
  CHECK(first_pieces(lexicon, sentence) == pieces);
}

}  // namespace tapestry::kit
