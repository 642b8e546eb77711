// WordPiece: the reference's ids on odd strings (tests/golden/data/word_piece.json), cases worked by hand,
// and files that are refused.
#include "nn/text/word_piece.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/tensor/error.hpp"
#include "nn/text/lines.hpp"
#include "nn/text/utf8.hpp"
#include "tests/golden/golden.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The golden file: a vocabulary, strings with the reference's ids, and hashes over blocks of characters.
const nlohmann::json& golden_words() {
  static const nlohmann::json file =
      nlohmann::json::parse(read_text(test::golden_folder() / "word_piece.json"));
  return file;
}

WordPiece golden_pieces() {
  std::string lines;
  for (const auto& piece : golden_words().at("vocabulary")) lines += piece.get<std::string>() + '\n';
  WordPieceOptions options;
  options.max_length = golden_words().at("max_length");
  return WordPiece::from_text(lines, "golden", options);
}

std::string pieces_text(const WordPiece& word_piece, const Ids& ids) {
  std::string text;
  for (const std::int64_t id : ids) text += (text.empty() ? "" : " ") + word_piece.piece(id);
  return text;
}

constexpr const char* kSmall =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
    "un\n##aff\n##able\n##a\n##b\na\nb\nstrasse\nstraße\ni\nσ\n##ς\n##σ\n!\n[\n]\nsep\n北\n京\nc\n##e\n";

WordPiece small(const WordPieceOptions& options = {}) {
  return WordPiece::from_text(kSmall, "small", options);
}

}  // namespace

TEST_CASE("word piece: the reference's ids on 5,000 odd strings", "[text][golden]") {
  const WordPiece word_piece = golden_pieces();
  REQUIRE(golden_words().at("cases").size() == 5000);
  std::size_t wrong = 0;
  for (const auto& one : golden_words().at("cases")) {
    const std::string text = one.at(0);
    const Ids expected = one.at(1), found = word_piece.encode(text);
    if (found == expected) continue;
    if (++wrong <= 5) {
      UNSCOPED_INFO(one.at(0).dump(-1, ' ', true) << "\n  expected " << pieces_text(word_piece, expected)
                                                  << "\n  found    " << pieces_text(word_piece, found));
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("word piece: every block of characters between two letters as in the reference", "[text][golden]") {
  const WordPiece word_piece = golden_pieces();
  REQUIRE(golden_words().at("sweep").size() == 800);
  std::string wrong;
  for (const auto& block : golden_words().at("sweep")) {
    const char32_t first = block.at(0).get<std::uint32_t>();
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a, as make_word_piece.py has it
    for (char32_t point = first; point < first + 256; ++point)
      for (const std::int64_t id : word_piece.encode("a" + utf8_of({&point, 1}) + "b"))
        hash = (hash ^ static_cast<std::uint64_t>(id)) * 0x100000001B3;
    if (std::to_string(hash) != block.at(1).get<std::string>())
      wrong += fmt::format(" U+{:04X}", static_cast<unsigned>(first));
  }
  CHECK(wrong == "");
}

TEST_CASE("word piece: by hand", "[text]") {
  const WordPiece pieces = small();
  const auto of = [&](const char* text) { return pieces_text(pieces, pieces.encode(text)); };
  CHECK(of("Unaffable") == "[CLS] un ##aff ##able [SEP]");  // the longest piece first, not un ##a …
  CHECK(of("una") == "[CLS] un ##a [SEP]");
  CHECK(of("unx") == "[CLS] [UNK] [SEP]");  // one piece missing: the whole word
  CHECK(of("ab!") == "[CLS] a ##b ! [SEP]");
  CHECK(of("a\u200Db") == "[CLS] a ##b [SEP]");
  CHECK(of("a\u00A0b") == "[CLS] a b [SEP]");
  CHECK(of("\u00C1B") == "[CLS] a ##b [SEP]");
  CHECK(of("c\u00E9") == "[CLS] c ##e [SEP]");
  CHECK(of("\u0130") == "[CLS] i [SEP]");
  CHECK(of("\u03A3\u03A3 \u03A3\u03C2") ==
        "[CLS] σ ##σ σ ##ς [SEP]");  // no final sigma is made, none is lost
  CHECK(of("STRASSE Straße") == "[CLS] strasse straße [SEP]");
  CHECK(of("a北京b") == "[CLS] a 北 京 b [SEP]");
  CHECK(of("") == "[CLS] [SEP]");
  CHECK(of(" \n\u3000") == "[CLS] [SEP]");
  CHECK(of("a[SEP]b [sep]") == "[CLS] a [SEP] b [ sep ] [SEP]");
  CHECK(of("[MASK") == "[CLS] [ [UNK] [SEP]");
  CHECK(pieces.encode("a b").size() == 4);
  CHECK(pieces.pieces_of("a b") == Ids{10, 11});
  CHECK(pieces.pad() == 0);
  CHECK(pieces.unknown() == 1);
  CHECK(pieces.begin() == 2);
  CHECK(pieces.end() == 3);
  CHECK(pieces.id("##aff") == 6);
  CHECK_FALSE(pieces.id("aff").has_value());
  CHECK(pieces.piece(6) == "##aff");
}

TEST_CASE("word piece: options", "[text]") {
  const auto of = [](const WordPieceOptions& options, const std::string& text) {
    const WordPiece pieces = small(options);
    return pieces_text(pieces, pieces.encode(text));
  };
  CHECK(of({.max_length = 4}, "a b a b") == "[CLS] a b [SEP]");
  CHECK(of({.max_length = 2}, "a b a b") == "[CLS] [SEP]");
  std::string long_text, long_word(100, 'a');
  for (int i = 0; i < 600; ++i) long_text += " a";
  CHECK(small().encode(long_text).size() == 512);  // as BERT's
  CHECK(small().pieces_of(long_text).size() == 600);
  CHECK(small().pieces_of(long_word).size() == 100);
  CHECK(of({}, long_word + "a") == "[CLS] [UNK] [SEP]");
  CHECK(of({.longest_word = 3}, "aaa aaaa") == "[CLS] a ##a ##a [UNK] [SEP]");
  // Characters are counted after the clean-up.
  CHECK(of({.longest_word = 3}, "a\u0301a\u0301a\u0301") == "[CLS] a ##a ##a [SEP]");
  CHECK(of({.specials_in_text = false}, "a[SEP]") == "[CLS] a [ sep ] [SEP]");
  CHECK(of({.text = {.lower_case = false}}, "a A") == "[CLS] a [UNK] [SEP]");
  CHECK(of({.text = {.strip_accents = false}}, "a \u00E1") == "[CLS] a [UNK] [SEP]");
  CHECK(of({.text = {.space_cjk = false}}, "北京") == "[CLS] [UNK] [SEP]");
  const std::u32string dotted = bert_cleaned(U"\u0130X", {.strip_accents = false});
  CHECK(dotted == U"i\u0307x");
}

TEST_CASE("word piece: what is wrong with a text or a vocabulary is said", "[text]") {
  const auto encoding = [](const std::string& text) {
    return test::message_of([&] { small().encode(text); });
  };
  CHECK_THAT(encoding("ab\xFF"), ContainsSubstring("must be UTF-8, got byte 0xff at position 2 of 3"));
  CHECK_THAT(encoding("[SEP] a\xE2\x82"), ContainsSubstring("byte 0xe2 at position 7 of 9"));
  CHECK_THAT(encoding("\xED\xA0\x80"), ContainsSubstring("byte 0xed"));

  const auto reading = [](const std::string& text) {
    return test::message_of([&] { WordPiece::from_text(text, "vocab.txt"); });
  };
  const std::string head = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
  CHECK(reading(head + "a\n##a\n") == "(nothing thrown)");
  CHECK(reading(head + "a\r\n##a") == "(nothing thrown)");
  CHECK_THAT(reading(head + "a\nb\na\n"), ContainsSubstring("vocab.txt:7: the piece 'a' appears twice"));
  CHECK_THAT(reading(head + "##a\n##a\n"), ContainsSubstring("vocab.txt:6: the piece '##a' appears twice"));
  CHECK_THAT(reading(head + "a\n\nb\n"), ContainsSubstring("vocab.txt:6: the line is empty"));
  CHECK_THAT(reading(head + "a\xFF\n"), ContainsSubstring("vocab.txt:5: invalid UTF-8"));
  CHECK_THAT(reading(head + std::string("a\0b\n", 4)), ContainsSubstring("vocab.txt:5: a NUL byte"));
  CHECK_THAT(reading(""), ContainsSubstring("the line '[PAD]' is missing"));
  CHECK_THAT(reading("[PAD]\n[CLS]\n[SEP]\n"), ContainsSubstring("vocab.txt: the line '[UNK]' is missing"));

  const test::TemporaryFolder folder;
  write_text(folder / "vocab.txt", head + "a\n");
  CHECK(WordPiece::load(folder / "vocab.txt").encode("a") == Ids{2, 4, 3});
  CHECK_THAT(test::message_of([&] { WordPiece::load(folder / "none"); }), ContainsSubstring("/none'"));
  CHECK_THAT(test::message_of([] { small({.max_length = 1}); }), ContainsSubstring("SEP], got 1"));
  const std::int64_t size = small().size();
  for (const std::int64_t id : {size, std::int64_t{99}, std::int64_t{-1}})
    CHECK_THAT(
        test::message_of([id] { small().piece(id); }),
        ContainsSubstring(fmt::format("piece {} is out of range: the vocabulary has {} pieces", id, size)));
}

TEST_CASE("accents and case are stripped each by its own option") {
  for (const bool lower : {false, true})
    for (const bool strip : {false, true}) {
      CAPTURE(lower, strip);
      const std::u32string want =
          lower ? (strip ? U"ee" : U"\u00E9\u00E9") : (strip ? U"Ee" : U"\u00C9\u00E9");
      CHECK(bert_cleaned(U"\u00C9\u00E9", {.lower_case = lower, .strip_accents = strip}) == want);
    }
}
