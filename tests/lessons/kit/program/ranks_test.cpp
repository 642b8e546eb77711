// Ranks of a lesson that were started with different options, or on different texts.
#include "lessons/kit/program/ranks.hpp"

#include <atomic>

#include "optim/parallel/thread_ranks.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

using Facts = std::vector<std::string>;

/// The message of rank 0, where `other` is what rank `odd` of `size` has in place of `facts`.
std::string told(const Facts& facts, const Facts& other, int odd, int size = 3) {
  return usage_error([&] {
    run_on_threads({.ranks = size}, [&](Communicator& ranks) {
      expect_same(ranks, "all must agree", ranks.rank() == odd ? other : facts);
    });
  });
}

}  // namespace

TEST_CASE("ranks with the same facts go on", "[kit][threads]") {
  for (const int size : {1, 2, 3, 5})
    for (const Facts& facts : {Facts{}, Facts{"a"}, Facts{"a 1", "", "b 2"}}) {
      std::atomic<int> went_on = 0;
      run_on_threads({.ranks = size}, [&](Communicator& ranks) {
        expect_same(ranks, "all must agree", facts);
        ++went_on;
      });
      CHECK(went_on == size);
    }
}

TEST_CASE("the first fact that differs is named with its rank, and no rank goes on", "[kit][threads]") {
  const Facts facts = {"a 1", "b 2", "c 3"};
  CHECK(told(facts, {"a 1", "b 4", "c 5"}, 2) == "all must agree; rank 0 has b 2 and rank 2 has b 4");
  CHECK(told(facts, {"a 1", "b 2", "c 4"}, 1) == "all must agree; rank 0 has c 3 and rank 1 has c 4");
  CHECK(told(facts, {"a 1", "b 2"}, 1) == "all must agree; rank 0 has c 3 and rank 1 has nothing");
  CHECK(told({}, {"a 1"}, 1) == "all must agree; rank 0 has nothing and rank 1 has a 1");
  CHECK(told(facts, {"a 1b 2c 3"}, 1) == "all must agree; rank 0 has a 1 and rank 1 has a 1b 2c 3");
  CHECK(told(facts, {"a 1", "b 2", "c 4"}, 0) == "all must agree; rank 0 has c 4 and rank 1 has c 3");
  CHECK(told({"\x1b[31m"}, {std::string(5000, 'x')}, 1).size() < 200);
  CHECK(told({"\x1b[31m"}, {"a"}, 1).find('\x1b') == std::string::npos);

  std::atomic<int> went_on = 0;
  usage_error([&] {
    run_on_threads({.ranks = 4}, [&](Communicator& ranks) {
      expect_same(ranks, "all must agree", {ranks.rank() == 3 ? "one" : "other"});
      ++went_on;
    });
  });
  CHECK(went_on == 0);
}

}  // namespace tapestry::kit
