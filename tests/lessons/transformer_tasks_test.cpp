// The tasks of lessons 16 to 19: what is asked for can be known, and the answers are right.
#include <algorithm>
#include <set>
#include <utility>

#include "lessons/16_self_attention/gap_sentences.hpp"
#include "lessons/16_self_attention/twice.hpp"
#include "lessons/17_positions/moves.hpp"
#include "lessons/18_multi_head/two_questions.hpp"
#include "lessons/19_block/cards.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("gaps are filled by the noun's number, and each sentence is on one side", "[kit]") {
  std::set<std::vector<std::int64_t>> all;
  for (const bool held_out : {false, true}) {
    const GapSentences sentences = gap_sentences(held_out);
    const std::vector<std::int64_t> words = sentences.words.to_vector(),
                                    answers = sentences.answers.to_vector();
    CHECK(answers.size() == (held_out ? 32 : 96));
    CHECK(std::count(answers.begin(), answers.end(), 0) * 2 == static_cast<std::ptrdiff_t>(answers.size()));
    for (std::size_t row = 0; row < answers.size(); ++row) {
      const auto word = words.begin() + static_cast<std::ptrdiff_t>(4 * row);
      all.insert({word, word + 4});
      CHECK(gap_vocabulary()[static_cast<std::size_t>(word[kGap])] == "_");
      const std::string& noun = gap_vocabulary()[static_cast<std::size_t>(word[kNoun])];
      CHECK((noun.back() == 's') == (answers[row] == 1));
    }
  }
  CHECK(all.size() == 128);
  const std::vector<std::int64_t> first = gap_sentences(true).words.to_vector();
  std::string sentence;
  for (std::size_t i = 0; i < 4; ++i) sentence += gap_vocabulary()[static_cast<std::size_t>(first[i])] + " ";
  CHECK(sentence == "see _ girl run ");
}

TEST_CASE("tokens are marked where their kind occurs twice", "[kit]") {
  const MarkedTokens drawn = draw_marked(Random(4, 1), 200);
  const std::vector<std::int64_t> tokens = drawn.tokens.to_vector(), answers = drawn.answers.to_vector();
  CHECK(drawn.tokens.shape() == Dims{200, kTokens});
  bool right = true;
  std::set<std::int64_t> kinds;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto row = tokens.begin() + static_cast<std::ptrdiff_t>(i / kTokens * kTokens);
    right &= (answers[i] == 1) == (std::count(row, row + kTokens, tokens[i]) == 2);
    kinds.insert(tokens[i]);
  }
  CHECK(right);
  CHECK(kinds.size() == kTokenKinds);
}

TEST_CASE("symbols are named from the other end, or from three places before", "[kit]") {
  const MovedSymbols reverse = draw_moves(Random(2, 3), Move::reverse, 3, 5),
                     shift = draw_moves(Random(2, 3), Move::shift, 3, 5);
  CHECK(reverse.symbols.to_vector() == shift.symbols.to_vector());
  for (Size t = 0; t < 5; ++t) {
    CHECK(reverse.answers.column(t).to_vector() == reverse.symbols.column(4 - t).to_vector());
    CHECK(shift.answers.column(t).to_vector() ==
          (t < kShift ? std::vector<std::int64_t>(3, kNoAnswer) : shift.symbols.column(t - 3).to_vector()));
  }
  const std::vector<std::int64_t> many = draw_moves(Random(2, 3), Move::shift, 100, 40).symbols.to_vector();
  const std::set<std::int64_t> kinds(many.begin(), many.end());
  CHECK(kinds.size() == 64);
  CHECK(*kinds.rbegin() == 63);
  CHECK(most_frequent_elsewhere(Indices{5, 1, 2, 1, 3}.reshape({1, 5})) == 50);
  CHECK(most_frequent_elsewhere(Indices{5, 1, 2, 1, 3, 1, 2, 3, 4, 5}.reshape({2, 5})) == 37.5);
}

TEST_CASE("two different keys of a list are asked for, and their digits are the answers", "[kit]") {
  const TwoQuestions drawn = draw_two_questions(Random(5, 2), 300);
  const std::vector<std::int64_t> keys = drawn.keys.to_vector(), digits = drawn.digits.to_vector(),
                                  places = drawn.places.to_vector(), answers = drawn.answers.to_vector(),
                                  first = drawn.first.to_vector(), second = drawn.second.to_vector();
  std::set<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t row = 0; row < 300; ++row) {
    const auto list = keys.begin() + static_cast<std::ptrdiff_t>(row * kListPairs);
    CHECK(std::set<std::int64_t>(list, list + kListPairs).size() == kListPairs);
    for (std::size_t q = 0; q < 2; ++q) {
      const std::size_t at = row * kListPairs + static_cast<std::size_t>(places[2 * row + q]);
      CHECK(keys[at] == (q == 0 ? first : second)[row]);
      CHECK(digits[at] == answers[2 * row + q]);
    }
    CHECK(first[row] != second[row]);
    pairs.emplace(places[2 * row], places[2 * row + 1]);
  }
  CHECK(pairs.size() > 100);  // of 132
  const TwoQuestions one = draw_two_questions(Random(5, 2), 3, true);
  const std::vector<std::int64_t> list = one.keys.to_vector(), behind = one.digits.to_vector();
  CHECK(std::equal(list.begin() + kListPairs, list.end(), list.begin()));
  CHECK(std::equal(behind.begin() + kListPairs, behind.end(), behind.begin()));
  CHECK(key_letter(0) == 'a');
  CHECK(key_letter(25) == 'z');
  CHECK(key_letter(26) == 'A');
}

TEST_CASE("cards point to cards, and the answers follow the pointers", "[kit]") {
  const Cards cards = deal_cards(Random(6, 1), 100);
  const std::vector<std::int64_t> pointers = cards.pointers.to_vector(), digits = cards.digits.to_vector(),
                                  answers = cards.answers.to_vector();
  CHECK(cards.answers.shape() == Dims{100, kCards, kCardQuestions});
  bool right = true;
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    const std::size_t row = i / kCards * kCards, once = row + static_cast<std::size_t>(pointers[i]),
                      twice = row + static_cast<std::size_t>(pointers[once]);
    right &= answers[3 * i] == digits[once] && answers[3 * i + 1] == digits[twice] &&
             answers[3 * i + 2] == (digits[once] + digits[twice]) % 10;
  }
  CHECK(right);
  for (std::size_t row = 0; row < pointers.size(); row += kCards) {
    const auto of = pointers.begin() + static_cast<std::ptrdiff_t>(row);
    CHECK(std::set<std::int64_t>(of, of + kCards).size() == kCards);
  }
  const Cards known{Indices{0}, Indices{1, 1, 2, 3, 4, 5, 6, 7, 8, 1}.reshape({1, 10}), Indices{0}};
  CHECK(most_frequent_digit(known) == 30);
}

}  // namespace tapestry::kit
