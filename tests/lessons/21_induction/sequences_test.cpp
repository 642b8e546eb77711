// Lesson 21's three other tasks: what is asked for can be known, and the answers are right.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "lessons/21_induction/tasks.hpp"
#include "tests/catch.hpp"

namespace tapestry {
namespace {

constexpr std::size_t kRows = 300;

struct Drawn {
  kit::Ids inputs, targets;
  std::int64_t input(std::size_t row, std::size_t place) const { return inputs.at(63 * row + place); }
  /// What follows the symbol at `place`; −1: not asked.
  std::int64_t target(std::size_t row, std::size_t place) const { return targets.at(63 * row + place); }
};

Drawn drawn(Sequences (*draw)(kit::Random, Size)) {
  const Sequences all = draw(kit::Random(5, 2), kRows);
  CHECK(all.inputs.shape() == Dims{kRows, 63});
  CHECK(all.targets.shape() == Dims{kRows, 63});
  return {all.inputs.to_vector(), all.targets.to_vector()};
}

}  // namespace

TEST_CASE("a bigram's sequences are of eight symbols, asked for in the second half", "[kit]") {
  const Drawn all = drawn(draw_bigram);
  std::map<std::int64_t, int> counts;
  bool right = true;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t t = 0; t < 63; ++t) {
      ++counts[all.input(row, t)];
      right &= (all.target(row, t) >= 0) == (t + 1 >= 32);
      if (t >= 31 && t < 62) right &= all.target(row, t) == all.input(row, t + 1);
    }
  CHECK(right);
  CHECK(counts.size() == 8);
  CHECK(counts.rbegin()->first == 7);
  for (const auto& [symbol, count] : counts)  // as likely as another, over all tables
    CHECK(std::abs(8.0 * count / (63.0 * kRows) - 1) < 0.2);
  // The shares of what follows differ from table to table: who counts does better than who does not.
  const Sequences test = draw_bigram(kit::Random(5, 2), kRows);
  CHECK(loss_of_counting(test, 8) < std::log(8) - 0.1);
}

TEST_CASE("keys come again in another order, each before its value", "[kit]") {
  const Drawn all = drawn(draw_pairs);
  bool right = true, other_order = false;
  for (std::size_t row = 0; row < kRows; ++row) {
    std::map<std::int64_t, std::int64_t> value_of;
    for (std::size_t t = 0; t < 32; t += 2) value_of[all.input(row, t)] = all.input(row, t + 1);
    right &= value_of.size() == 16 && value_of.begin()->first == 0 && value_of.rbegin()->first == 15;
    for (std::size_t t = 0; t < 63; ++t) {
      const bool asked = t >= 32 && t % 2 == 0;
      right &= all.target(row, t) == (asked ? value_of[all.input(row, t)] : -1);
      other_order |= asked && all.input(row, t) != all.input(row, t - 32);
    }
    for (const auto& [key, value] : value_of) right &= value >= 16 && value < 32;
  }
  CHECK(right);
  CHECK(other_order);
}

TEST_CASE("every third number is the greatest common divisor of the two before", "[kit]") {
  const Drawn all = drawn(draw_gcd);
  bool right = true;
  std::map<std::int64_t, int> counts, answers;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t t = 0; t < 63; ++t) {
      const bool asked = t % 3 == 1;
      right &= all.target(row, t) == (asked ? std::gcd(all.input(row, t - 1), all.input(row, t)) : -1);
      if (t % 3 != 2) ++counts[all.input(row, t)];
      if (asked) ++answers[all.target(row, t)];
    }
  CHECK(right);
  CHECK(counts.size() == 31);
  CHECK(counts.begin()->first == 1);
  CHECK(counts.rbegin()->first == 31);
  double loss = 0;
  for (const auto& [answer, count] : answers) loss -= count / 6300.0 * std::log(count / 6300.0);
  CHECK(loss_of_frequencies(draw_gcd(kit::Random(5, 2), kRows)) == Approx(loss));
}

TEST_CASE("who counts knows what came, one time more for each symbol", "[kit]") {
  // One row: 0 1 0 1 …, asked for at the last place alone: 31 times 0 was followed by 1.
  kit::Ids ids;
  for (int t = 0; t < 64; ++t) ids.push_back(t % 2);
  const Sequences last = sequences(ids, [](Size, Size place) { return place == 63; });
  CHECK(loss_of_counting(last, 8) == Approx(-std::log(32.0 / 39)));
  // A second row does not know of the first.
  for (int t = 0; t < 64; ++t) ids.push_back(2);
  const Sequences first = sequences(ids, [](Size row, Size place) { return row == 1 && place == 1; });
  CHECK(loss_of_counting(first, 8) == Approx(std::log(8)));
}

}  // namespace tapestry
