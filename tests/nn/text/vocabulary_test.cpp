// Words to ids and back.
#include "nn/text/vocabulary.hpp"

#include "core/tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

namespace tapestry {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::vector<Words> kText = {{"b", "a", "c", "a"}, {"c", "b", "é"}, {"a", "d"}};

}  // namespace

TEST_CASE("a vocabulary orders by count, then by first appearance", "[text]") {
  const Vocabulary all = Vocabulary::build(kText);
  REQUIRE(all.size() == 9);
  const char* const expected[] = {"<pad>", "<unk>", "<start>", "<end>", "a", "b", "c", "é", "d"};
  for (Size id = 0; id < all.size(); ++id) CHECK(all.word(id) == expected[id]);
  CHECK(Vocabulary::build(kText, 2).size() == 7);
  CHECK(Vocabulary::build(kText, 4).size() == 4);
  CHECK(Vocabulary::build({}).size() == 4);
}

TEST_CASE("sentences are encoded and decoded", "[text]") {
  const Vocabulary words = Vocabulary::build(kText, 2);
  CHECK(words.encode({"a", "d", "c"}) == Ids{4, kUnk, 6});
  CHECK(words.encode_source({"a"}) == Ids{4, kEnd});
  CHECK(words.encode_target({"a"}) == Ids{kStart, 4, kEnd});
  CHECK(words.decode(Ids{kStart, 4, kUnk, kPad, 5, kEnd, 6}) == Words{"a", "<unk>", "b"});
  CHECK(words.decode(Ids{}).empty());
  CHECK(words.contains("a"));
  CHECK_FALSE(words.contains("d"));
}

TEST_CASE("text cannot smuggle a special word in", "[text]") {
  const Vocabulary words = Vocabulary::build({{"a", "<end>", "<pad>"}});
  CHECK(words.size() == 5);
  CHECK(words.encode({"<end>", "<pad>", "<start>", "<unk>"}) == Ids{kUnk, kUnk, kUnk, kUnk});
}

TEST_CASE("an id out of range is named", "[text]") {
  const Vocabulary words = Vocabulary::build(kText);
  const auto id = GENERATE(std::int64_t{-1}, std::int64_t{9});
  CHECK_THROWS_AS(words.word(id), Error);
  CHECK_THROWS_WITH(words.word(id),
                    ContainsSubstring(std::to_string(id)) && ContainsSubstring("has 9 words"));
}

TEST_CASE("a vocabulary survives a file", "[text]") {
  const test::TemporaryFolder folder;
  const Vocabulary words = Vocabulary::build(kText);
  words.save(folder / "words");
  CHECK(Vocabulary::load(folder / "words") == words);
  const Vocabulary again = Vocabulary::from_text(words.text(), "checkpoint");
  CHECK(again == words);
  CHECK(again.id("é") == words.id("é"));
  CHECK(Vocabulary::from_text(Vocabulary().text(), "empty") == Vocabulary());
}

TEST_CASE("words that no file could hold are refused when the vocabulary is made", "[text]") {
  const std::string nul("a\0b", 3), no_text = "a\xFF";
  CHECK_THROWS_WITH(Vocabulary::build({{"ok", no_text}}), ContainsSubstring("invalid UTF-8 (byte 0xff"));
  CHECK_THROWS_WITH(Vocabulary::of({nul}), ContainsSubstring("NUL byte at byte 2"));
  CHECK_NOTHROW(Vocabulary::build({{"ok", "ok", no_text}}, 2));  // not in it
}

TEST_CASE("a damaged vocabulary is refused with its line", "[text]") {
  const std::string head = "tapestry vocabulary 1\n<pad>\n<unk>\n<start>\n<end>\n";
  const auto error = [](const std::string& text) {
    return test::message_of([&] { Vocabulary::from_text(text, "words"); });
  };
  CHECK(error(head + "a\nb\n") == "(nothing thrown)");
  CHECK_THAT(error(""), ContainsSubstring("words:1: expected the line"));
  CHECK_THAT(error("something else\n"), ContainsSubstring("words:1: expected the line"));
  CHECK_THAT(error(head.substr(0, head.size() - 6)),
             ContainsSubstring("words:5: expected the special word '<end>'"));
  CHECK_THAT(error("tapestry vocabulary 1\na\n"),
             ContainsSubstring("words:2: expected the special word '<pad>'"));
  CHECK_THAT(error(head + "a\nb\na\n"), ContainsSubstring("words:8: the word 'a' appears twice"));
  CHECK_THAT(error(head + "a\n<unk>\n"), ContainsSubstring("words:7: the special word '<unk>'"));
  CHECK_THAT(error(head + "a\n\nb\n"), ContainsSubstring("words:7: a line must be one word, got ''"));
  CHECK_THAT(error(head + "a b\n"), ContainsSubstring("words:6: a line must be one word, got 'a b'"));
  CHECK_THAT(error(head + "a\xFF\n"), ContainsSubstring("words:6: invalid UTF-8"));
}

}  // namespace tapestry
