// Pre-tokenizers: words worked out by hand from the patterns. Goldens of whole strings are in byte_level_test.cpp.
#include "nn/text/pre_tokenize.hpp"

#include <fmt/format.h>

#include <string>

#include "core/tensor/random.hpp"
#include "nn/text/unicode.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;

namespace {

std::string words(std::string_view text, PreTokenizer kind) {
  return fmt::format("{}", fmt::join(pre_tokens(text, kind), "|"));
}

}  // namespace

TEST_CASE("pre-tokenizers: GPT-2's pattern", "[text]") {
  const auto of = [](std::string_view text) { return words(text, PreTokenizer::gpt2); };
  CHECK(of("") == "");
  CHECK(of("Hello, world!") == "Hello|,| world|!");
  CHECK(of("it's we'll I'd 'tis") == "it|'s| we|'ll| I|'d| '|tis");  // after a space no contraction begins
  CHECK(of("IT'S 'sx 'l") == "IT|'|S| '|sx| '|l");
  CHECK(of("a1b22 333") == "a|1|b|22| 333");
  CHECK(of("a  b   c ") == "a| | b|  | c| ");
  CHECK(of("a \n b\n\nc\n") == "a| \n| b|\n|\n|c|\n");
  CHECK(of("x = {};  ") == "x| =| {};|  ");
  CHECK(of("e\u0301a") == "e|\u0301|a");  // a mark is no letter
  CHECK(of("\u00A0x\u3000\u3000y") == "\u00A0|x|\u3000|\u3000|y");
}

TEST_CASE("pre-tokenizers: SmolLM's, Llama 3's and Qwen 2's patterns", "[text]") {
  const auto smollm = [](std::string_view text) { return words(text, PreTokenizer::smollm); };
  CHECK(smollm("a12 345b") == "a|1|2| |3|4|5|b");
  CHECK(smollm("x   12\u00BD") ==
        "x|   |1|2|\u00BD");  // the part before a digit ends there: no space is left over
  CHECK(smollm("it's 5's") == "it|'s| |5|'s");
  const auto llama3 = [](std::string_view text) { return words(text, PreTokenizer::llama3); };
  CHECK(llama3("IT'S we'Ll 'tis it'\u017F") == "IT|'S| we|'Ll| '|tis| it|'\u017F");
  CHECK(llama3("'sx '\u017Fx'\u017Fx") == "'s|x| '|\u017Fx|'\u017F|x");
  CHECK(llama3("12345 678") == "123|45| |678");
  CHECK(llama3("(a) \tb\u0301c x$d $e") == "(a|)| |\tb|\u0301c| x|$d| $|e");
  CHECK(llama3("x!!\r\n\ny  \n\n  z") == "x|!!\r\n\n|y|  \n\n| | z");
  CHECK(llama3("\na\n  ") == "\n|a|\n|  ");
  CHECK(words("12345 6", PreTokenizer::qwen2) == "1|2|3|4|5| |6");
}

TEST_CASE("pre-tokenizers: invalid bytes are characters, and no byte is lost", "[text]") {
  CHECK(words("a\xFF\xC3 \xE2\x82z", PreTokenizer::gpt2) == "a|\xFF\xC3| \xE2\x82|z");
  const Stream stream(7, 1);
  std::uint64_t next = 0;
  const std::string parts[] = {"a",        "1",   " ", "\n", "'s", ".", "\xC3", "\xA9", "\xE2\x82\xAC",
                               "\xF0\x9F", "\xFF"};
  for (const PreTokenizer kind :
       {PreTokenizer::gpt2, PreTokenizer::smollm, PreTokenizer::llama3, PreTokenizer::qwen2}) {
    for (int round = 0; round < 200; ++round) {
      std::string text, joined;
      for (std::uint64_t n = stream.below(30, next++); n > 0; --n)
        text += parts[stream.below(std::size(parts), next++)];
      for (const std::string_view word : pre_tokens(text, kind)) {
        CHECK_FALSE(word.empty());
        joined += word;
      }
      REQUIRE(joined == text);
    }
  }
}

TEST_CASE("pre-tokenizers: names", "[text]") {
  CHECK(pre_tokenizer_of("gpt-2") == PreTokenizer::gpt2);
  CHECK(pre_tokenizer_of("default") == PreTokenizer::gpt2);
  CHECK(pre_tokenizer_of("smollm") == PreTokenizer::smollm);
  CHECK(pre_tokenizer_of("llama-bpe") == PreTokenizer::llama3);
  CHECK(pre_tokenizer_of("qwen2") == PreTokenizer::qwen2);
  CHECK(test::message_of([] { pre_tokenizer_of("falcon\n"); }) ==
        "[byte level] the pre-tokenizer must be one of gpt-2, default, smollm, llama-bpe, qwen2, got "
        "'falcon\\x0a'; use a model that has one of these");
}

TEST_CASE("unicode: classes of characters", "[text]") {
  const auto all = [](std::u32string_view points, CharacterClass kind) {
    for (const char32_t point : points) {
      INFO(fmt::format("U+{:04X}", static_cast<unsigned>(point)));
      CHECK(character_class(point) == kind);
    }
  };
  all(U"azAZ\u00E9\u01C5\u02B0\u00AA\u05D0\u4E00\U00020000", CharacterClass::letter);
  all(U"09\u00BD\u2163\u0663\u00B2\U0001D7D8", CharacterClass::number);
  all(U"\t\n\v\f\r \u0085\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000", CharacterClass::space);
  all(U"@[`{/:\u0008\u000E\u001F\u007F\u0301\u200B\u200D\u180E\uFEFF\u20AC\U0001F600\u0378\uE000",
      CharacterClass::other);
  all({U"\0", 1}, CharacterClass::other);
  for (const std::uint32_t point : {0xD800U, 0x110000U, 0xFFFFFFFFU})
    CHECK(character_class(point) == CharacterClass::other);
}
