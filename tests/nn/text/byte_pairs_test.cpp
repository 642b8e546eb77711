// Byte pairs: merges worked by hand, properties of splitting and joining, and files that are refused.
#include "nn/text/byte_pairs.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/tensor/error.hpp"
#include "core/tensor/random.hpp"
#include "nn/text/lines.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

using Merges = std::vector<BytePairs::Merge>;

/// "low" so many times, and so on: the example of the paper's figure 1.
std::vector<Words> example() {
  std::vector<Words> text;
  const auto add = [&](const char* word, int count) {
    for (int i = 0; i < count; ++i) text.push_back({word});
  };
  add("low", 5);
  add("lower", 2);
  add("newest", 6);
  add("widest", 3);
  return text;
}

/// Random words of few letters, some not ASCII, so that pairs repeat and overlap.
std::vector<Words> random_text(std::uint64_t seed, int sentences) {
  const char* const letters[] = {"a", "a", "a", "b", "c", "é", "北", "😀"};
  const Stream stream(seed, 1);
  std::uint64_t next = 0;
  std::vector<Words> text;
  for (int i = 0; i < sentences; ++i) {
    Words words;
    for (std::uint64_t n = 1 + stream.below(6, next++); n > 0; --n) {
      std::string word;
      for (std::uint64_t k = 1 + stream.below(9, next++); k > 0; --k)
        word += letters[stream.below(std::size(letters), next++)];
      words.push_back(word);
    }
    text.push_back(words);
  }
  return text;
}

/// Learning as it is defined: all pairs counted anew for each merge.
Merges plain_learn(const std::vector<Words>& text, const BytePairOptions& options) {
  std::vector<Words> words;
  for (const Words& sentence : text)
    for (const std::string& word : sentence)
      words.push_back(marked_characters(word, options.marked, options.marker));
  Merges merges;
  while (static_cast<Size>(merges.size()) < options.merges) {
    std::map<std::pair<std::string, std::string>, Size> counts;  // in byte order
    for (const Words& pieces : words)
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) ++counts[{pieces[i], pieces[i + 1]}];
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end() || most->second < options.at_least) break;
    merges.push_back({most->first.first, most->first.second});
    for (Words& pieces : words) {
      Words joined;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const bool here = i + 1 < pieces.size() && std::pair(pieces[i], pieces[i + 1]) == most->first;
        joined.push_back(here ? pieces[i] + pieces[i + 1] : pieces[i]);
        i += here ? 1 : 0;
      }
      pieces = std::move(joined);
    }
  }
  return merges;
}

}  // namespace

TEST_CASE("byte pairs: merges by hand", "[text]") {
  // es 9, st</w> 9 and t</w> after s 9 … : of equal counts the first in byte order.
  const BytePairs pairs = BytePairs::learn(example(), {.merges = 10});
  const Merges expected = {{"e", "s"},        {"es", "t</w>"},    {"l", "o"},      {"e", "w"},
                           {"ew", "est</w>"}, {"n", "ewest</w>"}, {"lo", "w</w>"}, {"d", "est</w>"},
                           {"i", "dest</w>"}, {"w", "idest</w>"}};
  CHECK(pairs.merges() == expected);
  CHECK(pairs.split({"low", "lowest", "new", "x"}) ==
        Words{"low</w>", "lo", "w", "est</w>", "n", "e", "w</w>", "x</w>"});
  CHECK(BytePairs::learn(example(), {.merges = 3}).merges() ==
        Merges(expected.begin(), expected.begin() + 3));
  // Only pairs that occur often enough; "lo" "we", "e" "r</w>" occur twice.
  CHECK(BytePairs::learn(example(), {.at_least = 8}).size() == 2);
  CHECK(BytePairs::learn({}, {}).size() == 0);
}

TEST_CASE(
    "byte pairs: of equal counts the first in byte order is merged, by its left piece, then its right") {
  // Every two of these letters before a z: each letter stands six times before a z, each two of them once.
  std::vector<Words> text;
  const std::string letters = "gfedcba";
  for (const char left : letters)
    for (const char right : letters)
      if (left != right) text.push_back({std::string{left, right, 'z'}});
  const Merges expected = {{"a", "z</w>"},  {"b", "z</w>"},  {"c", "z</w>"},  {"d", "z</w>"},
                           {"e", "z</w>"},  {"f", "z</w>"},  {"g", "z</w>"},  {"a", "bz</w>"},
                           {"a", "cz</w>"}, {"a", "dz</w>"}, {"a", "ez</w>"}, {"a", "fz</w>"},
                           {"a", "gz</w>"}, {"b", "az</w>"}};
  CHECK(BytePairs::learn(text, {.merges = 14, .at_least = 1}).merges() == expected);
}

TEST_CASE("byte pairs: learning is counting all pairs anew for each merge", "[text]") {
  for (const MarkedPiece marked : {MarkedPiece::last, MarkedPiece::first}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const BytePairOptions options{.merges = 10'000, .marked = marked, .marker = "_"};
      const std::vector<Words> text = random_text(seed, 150);
      const Merges merges = BytePairs::learn(text, options).merges(), expected = plain_learn(text, options);
      CHECK(expected.size() > 150);
      const auto [got, wanted] =
          std::mismatch(merges.begin(), merges.end(), expected.begin(), expected.end());
      CAPTURE(seed, got - merges.begin());
      CHECK(merges.size() == expected.size());
      CHECK((got == merges.end() && wanted == expected.end()));
    }
  }
}

TEST_CASE("byte pairs: the earliest merge goes first, then the leftmost", "[text]") {
  // "aaa" counts a·a twice in each word, and is merged from the left.
  const BytePairs pairs = BytePairs::learn({{"aaaa", "aaaa", "aaaa"}}, {.merges = 1});
  CHECK(pairs.merges() == Merges{{"a", "a"}});
  CHECK(pairs.split({"aaaa", "aaab"}) == Words{"aa", "a", "a</w>", "aa", "a", "b</w>"});
  const BytePairs ranked =
      BytePairs::from_text("tapestry byte pairs 1\nmarker last </w>\nb c\na b\na bc\n", "x");
  CHECK(ranked.split({"abcd", "abd"}) == Words{"abc", "d</w>", "ab", "d</w>"});
}

TEST_CASE("byte pairs: the first piece can carry the marker", "[text]") {
  const BytePairOptions options{.merges = 3, .marked = MarkedPiece::first, .marker = "▁"};
  const BytePairs pairs = BytePairs::learn(example(), options);
  CHECK(pairs.merges() == Merges{{"e", "s"}, {"es", "t"}, {"o", "w"}});
  CHECK(pairs.split({"low", "west"}) == Words{"▁l", "ow", "▁w", "est"});
  CHECK(pairs.join({"▁l", "ow", "▁w", "est"}) == Words{"low", "west"});
  CHECK(pairs.join({"ow", "▁w"}) == Words{"ow", "w"});  // cut off at the left
}

TEST_CASE("byte pairs: what is split can be joined, and learning is deterministic", "[text]") {
  const auto marked = GENERATE(MarkedPiece::last, MarkedPiece::first);
  const auto seed = GENERATE(std::uint64_t{1}, std::uint64_t{2});
  const BytePairOptions options{.merges = 60, .marked = marked, .marker = "_"};
  const std::vector<Words> text = random_text(seed, 120);
  const BytePairs pairs = BytePairs::learn(text, options);
  CHECK(pairs.size() == 60);
  CHECK(BytePairs::learn(text, options) == pairs);
  const std::vector<Words> backwards(text.rbegin(), text.rend());
  CHECK(BytePairs::learn(backwards, options) == pairs);  // counts alone decide
  const BytePairs again = BytePairs::from_text(pairs.text(), "text");
  CHECK(again == pairs);
  std::size_t characters = 0, pieces = 0;
  for (const Words& words : random_text(seed + 10, 120)) {
    const Words split = pairs.split(words);
    CHECK(pairs.join(split) == words);
    CHECK(again.split(words) == split);
    CHECK(split.size() >= words.size());
    pieces += split.size();
    for (const std::string& word : words) characters += marked_characters(word, marked, "_").size();
  }
  CHECK(pieces < characters * 7 / 10);
}

TEST_CASE("byte pairs: words that nobody foresaw can be split and joined too", "[text]") {
  const BytePairs pairs = BytePairs::learn(example(), {.merges = 10});
  for (const char* word : {"</w>", "x</w>y", "low</w>", "w</w>", "<", "e\u0301", "\U0001F600"}) {
    INFO(word);
    CHECK(pairs.join(pairs.split({word, "low"})) == Words{word, "low"});
  }
  CHECK(pairs.join({}).empty());
  CHECK(pairs.join({"lo", "w"}) == Words{"low"});  // cut off at the right
  CHECK_THAT(message_of([&] { pairs.split({"a\xFF"}); }), ContainsSubstring("must be UTF-8"));
  CHECK_THAT(message_of([&] { pairs.split({""}); }), ContainsSubstring("must not be empty"));
  const std::string longest(200'000, 'e');
  CHECK(pairs.join(pairs.split({longest})) == Words{longest});
}

TEST_CASE("byte pairs: what cannot be learned is said", "[text]") {
  const auto learning = [](const Words& words, const BytePairOptions& options = {}) {
    return message_of([&] { BytePairs::learn({words}, options); });
  };
  CHECK_THAT(learning({"a</w>b"}), ContainsSubstring("must not contain the marker '</w>'"));
  CHECK_THAT(learning({"a b"}), ContainsSubstring("without white space or NUL, got 'a b'"));
  CHECK_THAT(learning({""}), ContainsSubstring("must be non-empty"));
  CHECK_THAT(learning({"\xC3"}), ContainsSubstring("must be UTF-8"));
  CHECK_THAT(learning({}, {.merges = -1}), ContainsSubstring("-1"));
  CHECK_THAT(learning({}, {.at_least = 0}), ContainsSubstring("got 8000 and 0"));
  CHECK_THAT(learning({}, {.marker = ""}), ContainsSubstring("marker"));
  CHECK_THAT(learning({}, {.marker = "a b"}), ContainsSubstring("without white space"));
}

TEST_CASE("byte pairs: a file is read, or refused with its line", "[text]") {
  const test::TemporaryFolder folder;
  const BytePairs pairs = BytePairs::learn(example(), {.merges = 10});
  pairs.save(folder / "merges");
  CHECK(BytePairs::load(folder / "merges") == pairs);
  CHECK_THAT(message_of([&] { BytePairs::load(folder / "none"); }), ContainsSubstring("/none'"));

  // No merges at all: every character is a piece.
  for (const MarkedPiece marked : {MarkedPiece::first, MarkedPiece::last}) {
    const BytePairs none = BytePairs::learn({}, {.merges = 0, .marked = marked});
    none.save(folder / "no merges");
    CHECK(BytePairs::load(folder / "no merges") == none);
    CHECK(BytePairs::from_text(none.text(), "text") == none);
    CHECK(BytePairs::from_text(none.text(), "text").split({"ab"}).size() == 2);
  }

  const std::string head = "tapestry byte pairs 1\nmarker last </w>\n";
  const auto error = [](const std::string& text) {
    return message_of([&] { BytePairs::from_text(text, "merges"); });
  };
  CHECK(error(head + "l o\nlo w</w>\n") == "(nothing thrown)");
  CHECK_THAT(error(""), ContainsSubstring("merges:1: expected the line"));
  CHECK_THAT(error("tapestry byte pairs 1\n"), ContainsSubstring("merges:2: expected 'marker"));
  CHECK_THAT(error("tapestry byte pairs 1\nmarker middle _\n"), ContainsSubstring("merges:2: expected"));
  CHECK_THAT(error(head + "l o w\n"),
             ContainsSubstring("merges:3: a merge must be two pieces separated by one space, got 'l o w'"));
  CHECK_THAT(error(head + "l  o\n"),
             ContainsSubstring("merges:3: a merge must be two pieces separated by one space, got 'l  o'"));
  CHECK_THAT(error(head + "l o\n\n"),
             ContainsSubstring("merges:4: a merge must be two pieces separated by one space, got ''"));
  CHECK_THAT(error(head + "l o\nl o\n"), ContainsSubstring("merges:4: the merge 'l o' is not valid here"));
  CHECK_THAT(error(head + "lo w\n"), ContainsSubstring("merges:3: the merge 'lo w' is not valid here"));
  CHECK_THAT(error(head + "o</w> w\n"), ContainsSubstring("merges:3"));
  CHECK_THAT(error(head + "< /\n</ w\n</w >\n"), ContainsSubstring("merges:5"));
  CHECK_THAT(error(head + "l \xFF\n"), ContainsSubstring("merges:3: invalid UTF-8"));
}
