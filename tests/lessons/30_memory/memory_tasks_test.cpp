// The texts of lesson 30 against a notebook that reads them, and its count of what came back.
#include <map>
#include <set>

#include "lessons/30_memory/recall.hpp"
#include "lessons/30_memory/tasks.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using namespace tapestry::lesson30;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Reads each row word by word, as the task says, and compares what it knows with the answers.
void check_answers(const Texts& texts, Size rows, std::size_t names_at_end) {
  const auto names = texts.names.to_vector(), symbols = texts.symbols.to_vector(),
             answers = texts.answers.to_vector();
  REQUIRE(texts.names.shape() == texts.symbols.shape());
  REQUIRE(texts.names.shape()[0] == rows);
  REQUIRE(texts.answers.shape() == Dims{rows, texts.questions});
  const Size words = texts.names.shape()[1];
  std::size_t next = 0;
  for (Size row = 0; row < rows; ++row) {
    std::map<std::int64_t, std::int64_t> known;
    std::set<std::int64_t> asked;
    for (Size t = 0; t < words; ++t) {
      const auto i = static_cast<std::size_t>(row * words + t);
      if (t < words - texts.questions) {
        REQUIRE(symbols[i] < kSymbols);
        if (names[i] == kForget)
          known.clear();
        else
          known[names[i]] = symbols[i];
        continue;
      }
      REQUIRE(symbols[i] == kQuestion);
      asked.insert(names[i]);
      CHECK(answers[next++] == (known.count(names[i]) ? known[names[i]] : kNothing));
    }
    CHECK(known.size() == names_at_end);
    CHECK(asked.size() == static_cast<std::size_t>(texts.questions));  // each asked once
  }
}

}  // namespace

TEST_CASE("lesson 30's texts ask for the last symbols, and for nothing of what was forgotten") {
  for (const Size pairs : {1, 2, 8}) {
    const auto count = static_cast<std::size_t>(pairs);
    const Texts updates = draw_updates(kit::Random(1), 20, pairs),
                sections = draw_sections(kit::Random(2), 20, pairs);
    CHECK(updates.names.shape()[1] == 5 * pairs);
    check_answers(updates, 20, count);
    CHECK(sections.names.shape()[1] == 3 * pairs + 2 + 2 * pairs);
    check_answers(sections, 20, count);
    Size nothing = 0;
    for (const std::int64_t answer : sections.answers.to_vector()) nothing += answer == kNothing;
    CHECK(nothing == 20 * pairs);
  }
}

TEST_CASE("lesson 30 counts what came back by the place at which it was written") {
  const Pairs pairs = draw_pairs(10, 4, 8, 1);
  const std::vector<double> all = accuracy_by_position(pairs, pairs.values);
  CHECK(all == std::vector<double>(4, 100.0));
  const Tensor off = concat({slice(pairs.values, 1, 0, 2), -slice(pairs.values, 1, 2, 4)}, 1);
  CHECK(accuracy_by_position(pairs, off) == std::vector<double>{100, 100, 0, 0});
  // The newest pair of the delta rule reads exactly; the only pair of a sum does.
  const Tensor newest = slice(read_back(pairs, WriteRule::delta) - pairs.values, 1, 3, 4);
  CHECK(max(abs(newest)).item() < 1e-5);
  const Pairs one = draw_pairs(10, 1, 8, 2);
  CHECK(max(abs(read_back(one, WriteRule::sum) - one.values)).item() < 1e-5);
}

TEST_CASE("lesson 30's texts have no more names than there are") {
  CHECK(draw_updates(kit::Random(1), 2, kNames).names.shape()[1] == 5 * kNames);
  CHECK(draw_sections(kit::Random(1), 2, 21).questions == 42);
  for (const Size pairs : {Size{0}, kNames + 1})
    CHECK_THROWS_WITH(draw_updates(kit::Random(1), 2, pairs), ContainsSubstring("pairs from 1 to 64"));
  for (const Size pairs : {0, 22})
    CHECK_THROWS_WITH(
        draw_sections(kit::Random(1), 2, pairs),
        ContainsSubstring("[lesson 30] batch must be at least 1 and pairs from 1 to 21 for 64 names"));
  CHECK_THROWS_WITH(draw_updates(kit::Random(1), 0, 2), ContainsSubstring("got 0 and 2"));
}
