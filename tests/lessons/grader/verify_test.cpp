// Which wrong answers of an exercise are tried.
#include "lessons/grader/verify.hpp"

#include <algorithm>
#include <set>

#include "tests/catch.hpp"

namespace tapestry::grader {

TEST_CASE("of an exercise's wrong answers some are tried at each turn, and all at as many turns as it takes",
          "[grader]") {
  Exercise exercise;
  for (int number = 1; number <= 7; ++number) {
    exercise.wrong.emplace_back();
    exercise.wrong.back().number = number;
  }
  const auto numbers = [&](int wrong, int turn) {
    std::vector<int> kept;
    for (const WrongAnswer& one : kept_wrong(exercise, {.wrong = wrong, .turn = turn}))
      kept.push_back(one.number);
    return kept;
  };
  const std::vector<int> all{1, 2, 3, 4, 5, 6, 7};
  for (const int wrong : {-1, 7, 9}) CHECK(numbers(wrong, 3) == all);
  CHECK(numbers(0, 5).empty());
  for (const int wrong : {1, 2, 3, 6}) {
    for (int from = 0; from < 20; ++from) {
      std::set<int> tried;
      for (int turn = from; turn < from + (6 + wrong) / wrong; ++turn) {
        const std::vector<int> kept = numbers(wrong, turn);
        CHECK(kept.size() == static_cast<std::size_t>(wrong));
        CHECK(std::is_sorted(kept.begin(), kept.end()));
        tried.insert(kept.begin(), kept.end());
      }
      CHECK(tried.size() == 7);
    }
  }
  CHECK(numbers(1, 0) != numbers(1, 1));
  Exercise other = exercise;
  std::set<int> firsts;
  for (const char* judge : {"a", "b", "c", "d", "e", "f"}) {
    other.judge = judge;
    firsts.insert(kept_wrong(other, {.wrong = 1}).front().number);
  }
  CHECK(firsts.size() > 1);
}

}  // namespace tapestry::grader
