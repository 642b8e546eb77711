// Characters to ids and back; words between white space.
#include "nn/text/characters.hpp"

#include "core/tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

TEST_CASE("characters: an alphabet in the order of code points, and back to the very text", "[text]") {
  const std::string text = "Noël,\n\t«北京» 😀 e\u0301 \u200D\r\n";
  const Characters characters = Characters::of(text);
  CHECK(characters.alphabet() == "\t\n\r ,Nelo«»ë\u0301\u200D京北😀");
  CHECK(characters.size() == 17);
  CHECK(characters.encode("\t\n ") == Ids{0, 1, 3});
  CHECK(characters.encode(text).size() == 20);
  CHECK(characters.decode(characters.encode(text)) == text);
  CHECK(Characters::of(characters.alphabet()) == characters);
  CHECK(characters.contains(U'ë'));
  CHECK_FALSE(characters.contains(U'z'));
  CHECK(Characters::of("").size() == 0);
  CHECK(Characters::of("").encode("").empty());
}

TEST_CASE("characters: what has no id, or is none, is said", "[text]") {
  const Characters characters = Characters::of("abc");
  CHECK_THAT(message_of([&] { characters.encode("abé"); }),
             ContainsSubstring("character 3 of the text, 'é' (U+00E9)") && ContainsSubstring("alphabet's 3"));
  CHECK_THAT(message_of([&] { characters.encode("a\xFF"); }), ContainsSubstring("must be UTF-8"));
  CHECK_THAT(message_of([] { Characters::of("\xC0\x80"); }), ContainsSubstring("byte 0xc0 at position 0"));
  CHECK_THAT(message_of([&] {
               characters.decode(Ids{0, 3});
             }),
             ContainsSubstring("character id 3 is out of range"));
  CHECK_THAT(message_of([&] { characters.decode(Ids{-1}); }), ContainsSubstring("-1"));
}

TEST_CASE("words: what stands between white space", "[text]") {
  CHECK(split_words("  a\tb \n c\u00A0d ") == Words{"a", "b", "c\u00A0d"});
  CHECK(split_words(" ").empty());
  CHECK(join_words({"a", "b"}) == "a b");
  CHECK(join_words({}) == "");
}
