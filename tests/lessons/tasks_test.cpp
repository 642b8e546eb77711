// The tasks of lessons 03, 07 and 08: what is asked for can be known.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lessons/03_training/spirals.hpp"
#include "lessons/07_masks/pair_strings.hpp"
#include "lessons/08_scale/lookup_questions.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("a key has one value, and is announced before its pair", "[kit]") {
  constexpr PairSizes kSizes{12, 10, 7};
  const PairStrings s = draw_pair_strings(Random(3, 5), 600, kSizes);
  const std::vector<bool> valid = s.valid().to_vector();
  Size empty = 0;
  for (Size row = 0; row < s.rows; ++row) {
    const Size pairs = s.pairs[static_cast<std::size_t>(row)];
    CHECK((pairs == 0 || (pairs >= 4 && pairs <= kSizes.columns)));
    empty += pairs == 0;
    std::map<std::int64_t, std::int64_t> values;
    bool sound = true;
    for (Size column = 0; column < kSizes.columns; ++column) {
      const auto at = static_cast<std::size_t>(row * kSizes.columns + column);
      const bool pair = column >= kSizes.columns - pairs, last = column + 1 == kSizes.columns;
      sound &= valid[at] == pair && s.keys[at] >= 0 && s.keys[at] < kSizes.keys && s.values[at] >= 0 &&
               s.values[at] < kSizes.values;
      if (!pair) {
        sound &= !s.known[at];
        continue;
      }
      sound &= values.emplace(s.keys[at], s.values[at]).first->second == s.values[at];
      sound &= s.known[at] == (values.count(s.asked[at]) == 1) && s.asked[at] != s.keys[at];
      sound &= last || s.keys[at + 1] == s.asked[at];
    }
    CHECK(sound);
    CHECK(values.size() <= 4);
  }
  CHECK(empty == Approx(100).margin(40));
  CHECK(s.shape() == Dims{600, 12});
  CHECK(draw_pair_strings(Random(3, 5), 600, kSizes).values == s.values);
  CHECK(draw_pair_strings(Random(3, 6), 600, kSizes).values != s.values);
}

TEST_CASE("a question's answer stands behind its key", "[kit]") {
  const LookupQuestions drawn = draw_lookup_questions(Random(2, 9), 400, {8, 5, 3});
  const std::vector<std::int64_t> query = drawn.query.to_vector(), keys = drawn.keys.to_vector(),
                                  behind = drawn.answer_of_key.to_vector(), answer = drawn.answer.to_vector();
  CHECK(drawn.keys.shape() == Dims{400, 5});
  std::set<std::int64_t> asked, answered, places;
  for (std::size_t row = 0; row < 400; ++row) {
    std::set<std::int64_t> distinct;
    int found = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      distinct.insert(keys[row * 5 + j]);
      if (keys[row * 5 + j] != query[row]) continue;
      found += behind[row * 5 + j] == answer[row];
      places.insert(static_cast<std::int64_t>(j));
    }
    CHECK(distinct.size() == 5);
    CHECK(found == 1);
    asked.insert(query[row]);
    answered.insert(answer[row]);
  }
  CHECK(asked == std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(answered == std::set<std::int64_t>{0, 1, 2});
  CHECK(places == std::set<std::int64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("each spiral is the other, turned by half a circle", "[kit]") {
  const Points points = draw_spirals(1, 2, 2000, DType::f64);
  CHECK(points.x.shape() == Dims{2000, 2});
  const std::vector<double> x = points.x.to_vector();
  const std::vector<std::int64_t> labels = points.labels.to_vector();
  double furthest = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double radius = std::hypot(x[2 * i], x[2 * i + 1]);
    const double turn = 4 * M_PI * (radius - 0.1) / 0.9 + M_PI * static_cast<double>(labels[i]);
    furthest = std::max(
        furthest, std::hypot(x[2 * i] - radius * std::cos(turn), x[2 * i + 1] - radius * std::sin(turn)));
  }
  CHECK(furthest < 1);  // noise of 0.015 across, and some fourteen times as much along a turn; else up to 2
  const Points batch = draw(points, Random(4), 50);
  CHECK(batch.x.shape() == Dims{50, 2});
  bool among = true;
  for (Size i = 0; i < 50; ++i) {
    bool found = false;
    for (std::size_t j = 0; j < labels.size(); ++j)
      found |= batch.x.at({i, 0}) == x[2 * j] && batch.x.at({i, 1}) == x[2 * j + 1] &&
               batch.labels.to_vector()[static_cast<std::size_t>(i)] == labels[j];
    among &= found;
  }
  CHECK(among);
}

}  // namespace tapestry::kit
