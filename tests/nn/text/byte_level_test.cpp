// Byte-level BPE: the reference's ids of awkward strings (tests/golden/data/byte_level.json), the merge loop beside a
// plain one, and vocabularies that are refused.
#include "nn/text/byte_level.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/tensor/random.hpp"
#include "nn/text/byte_alphabet.hpp"
#include "nn/text/lines.hpp"
#include "tests/catch.hpp"
#include "tests/golden/golden.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using test::message_of;

namespace {

using Json = nlohmann::json;

const Json& golden_bytes() {
  static const Json file = Json::parse(read_text(test::golden_folder() / "byte_level.json"));
  return file;
}

ByteLevelVocabulary vocabulary_of(const Json& file, const std::string& pre_tokenizer = "gpt-2") {
  return {file.at("tokens"), file.at("merges"), file.at("types"), pre_tokenizer};
}

/// The golden vocabulary without the bytes of its case "missing".
ByteLevelVocabulary vocabulary_without_bytes() {
  ByteLevelVocabulary vocabulary = vocabulary_of(golden_bytes());
  for (const int byte : golden_bytes().at("missing")) {
    const std::string text = text_of_bytes(std::string(1, static_cast<char>(byte)));
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i)
      if (vocabulary.tokens[i] == text) vocabulary.tokens[i] = fmt::format("[unused {}]", i);
    std::erase_if(vocabulary.merges,
                  [&](const std::string& merge) { return merge.find(text) != merge.npos; });
  }
  return vocabulary;
}

/// Compares the ids of all strings of a golden file with those of one of its cases.
void check_ids(const Json& file, const std::string& name, const ByteLevelBpe& bpe,
               SpecialTokens special = SpecialTokens::all) {
  INFO(name);
  REQUIRE(file.at("cases").size() >= 60);
  for (const auto& one : file.at("cases")) {
    const std::string text = one.at(0);
    const auto& expected = one.at(1);
    INFO(one.at(0).dump(-1, ' ', true));
    const Ids ids = bpe.encode(text, special);
    CHECK(ids == expected.value(name, expected.at("gpt-2")).get<Ids>());
    const bool whole = std::all_of(text.begin(), text.end(),
                                   [&](char byte) { return bpe.has_byte(static_cast<unsigned char>(byte)); });
    if (whole) CHECK(bpe.decode(ids) == text);
  }
}

/// Compares the ids by all pre-tokenizers, with special tokens and without.
void check_all_ids(const Json& file) {
  for (const char* name : {"gpt-2", "smollm", "llama-bpe", "qwen2"})
    check_ids(file, name, ByteLevelBpe(vocabulary_of(file, name)));
  check_ids(file, "none", ByteLevelBpe(vocabulary_of(file)), SpecialTokens::none);
  check_ids(file, "user_defined", ByteLevelBpe(vocabulary_of(file)), SpecialTokens::user_defined);
}

/// A vocabulary of all bytes and the results of `merges`.
ByteLevelVocabulary vocabulary_with(std::vector<std::string> merges, std::vector<std::string> more = {}) {
  ByteLevelVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.tokens.push_back(text_of_bytes(std::string(1, static_cast<char>(byte))));
  std::set<std::string> results;
  for (const std::string& merge : merges) {
    std::string result = merge;
    std::erase(result, ' ');
    if (results.insert(result).second) vocabulary.tokens.push_back(result);
  }
  vocabulary.tokens.insert(vocabulary.tokens.end(), more.begin(), more.end());
  vocabulary.merges = std::move(merges);
  return vocabulary;
}

std::string pieces(const ByteLevelBpe& bpe, std::string_view text) {
  std::string result;
  for (const std::int64_t id : bpe.encode(text)) result += (result.empty() ? "" : " ") + bpe.token(id);
  return result;
}

/// Merges as they are defined: the pair of the lowest rank, searched anew each time.
std::vector<std::string> plainly_merged(std::vector<std::string> parts,
                                        const std::vector<std::string>& merges) {
  for (;;) {
    std::size_t best = merges.size(), at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      for (std::size_t rank = 0; rank < best; ++rank)
        if (merges[rank] == parts[i] + ' ' + parts[i + 1]) {
          best = rank;
          at = i;
        }
    if (best == merges.size()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

}  // namespace

TEST_CASE("byte-level BPE: the reference's ids, in both directions", "[text][golden]") {
  check_all_ids(golden_bytes());
  check_ids(golden_bytes(), "missing", ByteLevelBpe(vocabulary_without_bytes()));
}

TEST_CASE("byte-level BPE: the ids of a published vocabulary", "[text]") {
  const char* path = std::getenv("TAPESTRY_BYTE_LEVEL");  // see tests/golden/README.md
  if (path) check_all_ids(Json::parse(read_text(path)));
}

TEST_CASE("byte-level BPE: GPT-2's alphabet", "[text]") {
  CHECK(text_of_bytes(std::string_view(" \n\0aA~", 6)) == "ĠĊĀaA~");
  CHECK(text_of_bytes("\x7F\x80\xA0\xA1\xAD\xAE\xFF") == "\u0121\u0122\u0142\u00A1\u0143\u00AE\u00FF");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(bytes_of_text(text_of_bytes(all)) == all);
  CHECK(std::set<char32_t>{byte_character(0), byte_character(32), byte_character(173)} ==
        std::set<char32_t>{0x100, 0x120, 0x143});
  for (const char* text : {"a b", "\u0144", "\u00A0", "\u00AD", "\xFF", "\U0001F600"})
    CHECK_FALSE(bytes_of_text(text));
  CHECK(bytes_of_text("") == "");
}

TEST_CASE("byte-level BPE: any bytes have ids, and the ids give the bytes back", "[text]") {
  const Stream stream(11, 1);
  std::uint64_t next = 0;
  for (const char* name : {"gpt-2", "smollm", "llama-bpe", "qwen2"}) {
    const ByteLevelBpe bpe(vocabulary_of(golden_bytes(), name));
    for (int round = 0; round < 50; ++round) {
      std::string text;
      for (std::uint64_t n = stream.below(60, next++); n > 0; --n) {
        text += static_cast<char>(stream.below(256, next++));
        if (stream.below(4, next++) == 0) text += " the";
      }
      REQUIRE(bpe.decode(bpe.encode(text, SpecialTokens::none)) == text);
    }
  }
}

TEST_CASE("byte-level BPE: the merge loop beside a plain one", "[text]") {
  const Stream stream(5, 1);
  std::uint64_t next = 0;
  for (int round = 0; round < 60; ++round) {
    // Merges of random tokens, so that a result may be made in two ways and be merged before its parts.
    std::vector<std::string> tokens = {"a", "b", "c"}, merges;
    for (int i = 0; i < 12; ++i) {
      const std::string left = tokens[stream.below(tokens.size(), next++)];
      const std::string right = tokens[stream.below(tokens.size(), next++)];
      if (std::find(merges.begin(), merges.end(), left + ' ' + right) != merges.end()) continue;
      merges.push_back(left + ' ' + right);
      tokens.push_back(left + right);
    }
    const ByteLevelBpe bpe(vocabulary_with(merges));
    for (int text_number = 0; text_number < 10; ++text_number) {
      std::vector<std::string> letters;
      std::string text;
      for (std::uint64_t n = 1 + stream.below(25, next++); n > 0; --n) {
        letters.emplace_back(1, static_cast<char>('a' + stream.below(3, next++)));
        text += letters.back();
      }
      REQUIRE(pieces(bpe, text) == fmt::format("{}", fmt::join(plainly_merged(letters, merges), " ")));
    }
  }
}

TEST_CASE("byte-level BPE: a long word does not take quadratic time", "[text]") {
  const ByteLevelBpe bpe(vocabulary_with({"x x", "xx xx", "xxxx xxxx"}));
  const std::size_t length = 1 << 18;
  const std::clock_t start = std::clock();
  CHECK(bpe.encode(std::string(length, 'x')).size() == length / 8);
  CHECK(bpe.encode(std::string(length, ' ')).size() == length);
  CHECK(bpe.encode(std::string(length, '<')).size() == length);
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 20);
}

TEST_CASE("byte-level BPE: special tokens", "[text]") {
  ByteLevelVocabulary vocabulary = vocabulary_with({"h i"}, {"<s>", "<s>>", "<tool>", "hi!"});
  vocabulary.types.assign(vocabulary.tokens.size(), 1);
  const std::size_t first = vocabulary.tokens.size() - 4;
  vocabulary.types[first] = vocabulary.types[first + 1] = 3;
  vocabulary.types[first + 2] = 4;
  vocabulary.types[first + 3] = 3;
  vocabulary.pre_tokenizer = "llama-bpe";
  const ByteLevelBpe bpe(vocabulary);
  CHECK(pieces(bpe, "hi<s>hi") == "hi <s> hi");
  CHECK(pieces(bpe, "<<s>><s><tool") == "< <s>> <s> < t o o l");  // the longest one
  CHECK(pieces(bpe, "hi!hi") == "hi! hi");
  CHECK(bpe.encode("<tool>", SpecialTokens::user_defined) == Ids{bpe.id("<tool>").value()});
  CHECK(bpe.encode("<s>", SpecialTokens::user_defined).size() == 3);
  CHECK(bpe.encode("<tool>", SpecialTokens::none).size() == 6);
  const Ids ids = bpe.encode("<s>hi<tool>");
  CHECK(bpe.decode(ids) == "<s>hi<tool>");
  CHECK(bpe.decode(ids, true) == "hi<tool>");
  CHECK(bpe.type(ids[0]) == TokenType::control);
  CHECK(bpe.type(ids[1]) == TokenType::normal);
  CHECK(bpe.type(ids[2]) == TokenType::user_defined);
  CHECK(bpe.size() == 256 + 1 + 4);
  // A word that is spelled like a control token is never one, not even by Llama 3's rule for whole words.
  ByteLevelVocabulary word = vocabulary_with({"h i"}, {"hey", "hip"});
  word.types.assign(word.tokens.size(), 1);
  word.types.back() = 3;
  word.pre_tokenizer = "llama-bpe";
  const ByteLevelBpe words(word);
  CHECK(words.encode("hey", SpecialTokens::none) == Ids{words.id("hey").value()});
  CHECK(words.encode("hip", SpecialTokens::none) == Ids{words.id("hi").value(), words.id("p").value()});
  word.pre_tokenizer = "gpt-2";
  CHECK(ByteLevelBpe(word).encode("hey").size() == 3);
}

TEST_CASE("byte-level BPE: bytes that the vocabulary lacks", "[text]") {
  ByteLevelVocabulary vocabulary = vocabulary_with({"? ?"});
  vocabulary.tokens[4] = "[unused]";
  const ByteLevelBpe bpe(vocabulary);
  CHECK_FALSE(bpe.has_byte(4));
  CHECK(bpe.has_byte(5));
  CHECK(pieces(bpe, "?\x04?") == "??");  // skipped before the merges, as the reference does
  CHECK(bpe.encode("\x04").empty());
  CHECK(bpe.bytes(4) == "[unused]");
  CHECK(bpe.bytes(' ') == " ");
  CHECK(bpe.token(' ') == "Ġ");
  CHECK(
      message_of([&] { ByteLevelBpe(vocabulary, {.skip_missing_bytes = false}).encode("a\x04"); }) ==
      "[byte level] the text must have only bytes that are tokens, got byte 0x04; set skip_missing_bytes to "
      "leave it out");
  CHECK(ByteLevelBpe(vocabulary, {.skip_missing_bytes = false}).encode("a").size() == 1);
}

TEST_CASE("byte-level BPE: what is refused", "[text]") {
  const auto refused = [](const std::function<void(ByteLevelVocabulary&)>& change) {
    ByteLevelVocabulary vocabulary = vocabulary_with({"a b", "c d"}, {"<s>"});
    vocabulary.types.assign(vocabulary.tokens.size(), 1);
    vocabulary.types.back() = 3;
    change(vocabulary);
    return message_of([&] { ByteLevelBpe{vocabulary}; });
  };
  using V = ByteLevelVocabulary;
  CHECK(refused([](V&) {}) == "(nothing thrown)");
  CHECK(refused([](V& v) { v.pre_tokenizer = ""; }).find("[byte level] the pre-tokenizer must be one of") ==
        0);
  CHECK(refused([](V& v) { v.types.pop_back(); }) ==
        "[byte level] types must be empty or one for each of 259 tokens, got 258");
  CHECK(refused([](V& v) { v.types[3] = 7; }) ==
        "[byte level] the type of a token must be 1 to 6, got 7 for 'ă'");
  CHECK(refused([](V& v) { v.types[3] = 0; }) ==
        "[byte level] the type of a token must be 1 to 6, got 0 for 'ă'");
  CHECK(refused([](V& v) { v.tokens[9] = ""; }) == "[byte level] tokens must not be empty, token 9 is");
  CHECK(refused([](V& v) { v.tokens[98] = "a"; }) ==
        "[byte level] tokens must differ, 'a' has the ids 97 and 98");
  for (const char* merge : {"", "ab", " b", "a ", "a b c", "a  b"})
    CHECK(refused([&](V& v) { v.merges[1] = merge; }) ==
          fmt::format("[byte level] a merge must be two tokens with a space between them, got '{}' (merge 1)",
                      merge));
  const auto part = [](const char* which, const char* token, const char* merge) {
    return fmt::format(
        "[byte level] the {} of a merge must be a token that is not a control token, got '{}' in '{}' "
        "(merge 1)",
        which, token, merge);
  };
  CHECK(refused([](V& v) { v.merges[1] = "xy b"; }) == part("left part", "xy", "xy b"));
  CHECK(refused([](V& v) { v.merges[1] = "a xy"; }) == part("right part", "xy", "a xy"));
  CHECK(refused([](V& v) { v.merges[1] = "a c"; }) == part("result", "ac", "a c"));
  CHECK(refused([](V& v) { v.merges[1] = "<s> a"; }) == part("left part", "<s>", "<s> a"));
  CHECK(refused([](V& v) {
          v.merges[1] = "< s";
          v.tokens.back() = "<s";
        }) == part("result", "<s", "< s"));
  CHECK(refused([](V& v) { v.merges[1] = "a b"; }) ==
        "[byte level] merges must differ, 'a b' occurs a second time (merge 1)");

  const ByteLevelBpe bpe(vocabulary_with({"a b"}));
  const std::string range = "[byte level] ids must be from 0 to 256, got ";
  CHECK(message_of([&] { bpe.decode(Ids{1, 257}); }) == range + "257");
  CHECK(message_of([&] { bpe.decode(Ids{-1}, true); }) == range + "-1");
  CHECK(message_of([&] { bpe.token(257); }) == range + "257");
  CHECK(message_of([&] { bpe.bytes(-2); }) == range + "-2");
  CHECK(message_of([&] { bpe.type(300); }) == range + "300");
  CHECK_FALSE(bpe.id("zz").has_value());
}

TEST_CASE("byte-level BPE: an empty vocabulary encodes nothing", "[text]") {
  const ByteLevelBpe bpe(ByteLevelVocabulary{});
  CHECK(bpe.size() == 0);
  CHECK(bpe.encode("abc").empty());
  CHECK(bpe.decode({}) == "");
}
