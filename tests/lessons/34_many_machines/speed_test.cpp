// What lesson 34 measures of ranks that train, and what it draws beside it.
#include "lessons/34_many_machines/speed.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include "core/simd/runtime/threads.hpp"
#include "lessons/34_many_machines/link_cost.hpp"
#include "tests/catch.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using namespace tapestry::lesson34;
using Catch::Matchers::WithinRel;

namespace {

double cost_of(const Link& link, int ranks, double bytes) {
  return 2.0 * (ranks - 1) * (link.latency + bytes / ranks * link.per_byte);
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("how many times as fast ranks are: exercise 34.3's machines, by hand", "[lesson34]") {
  const Link link{20e-6, 0.1e-9};  // a ring of 101 ranks takes 200 (0.02 + 10/101) = 23.802 ms
  const SpeedUp times = predicted_speed_up(link, 101, 0.12, 1e8, cost_of);
  CHECK_THAT(times.own_batch, WithinRel(101.0, 1e-9));  // shorter than the way back: hidden
  CHECK_THAT(times.after, WithinRel(101 * 120 / 143.80198, 1e-6));
  CHECK_THAT(times.shared_batch, WithinRel(120 / (40.0 / 101 + 23.80198), 1e-6));
  CHECK_THAT(predicted_speed_up(link, 101, 0.03, 1e8, cost_of).own_batch,
             WithinRel(101 * 30 / 33.80198, 1e-6));  // longer than that
  const SpeedUp alone = predicted_speed_up(link, 1, 0.12, 1e8, cost_of);
  CHECK(alone.own_batch == 1);
  CHECK(alone.after == 1);
  CHECK(alone.shared_batch == 1);
}

TEST_CASE("the fit of a wire gives back the latency and the time per byte that made the times",
          "[lesson34]") {
  for (const Link link : {Link{2e-5, 1e-10}, Link{1e-6, 3e-9}})
    for (const int ranks : {2, 7}) {
      Measured measured;
      for (double numbers = 64; numbers < 1e6; numbers *= 4) {
        measured.numbers.push_back(numbers);
        measured.seconds.push_back(cost_of(link, ranks, 4 * numbers));  // an f32 has four bytes
      }
      const Link fitted = fit(measured, cost_of, ranks);
      CHECK_THAT(fitted.latency, WithinRel(link.latency, 1e-6));
      CHECK_THAT(fitted.per_byte, WithinRel(link.per_byte, 1e-6));
    }
}

TEST_CASE("speeds are measured on 1, 2, 4, … ranks and on all, and drawn", "[lesson34][threads]") {
  const test::TemporaryFolder folder;
  kit::Options options;
  options.smoke = true;
  options.out = folder.path();
  const int threads = simd::thread_count();
  for (const int ranks : {1, 5}) {
    const Speeds speeds = speeds_on_threads(ranks, options);
    std::vector<int> counts;
    for (const Speed& speed : speeds.measured) {
      counts.push_back(speed.ranks);
      CHECK(speed.shared_batch > 0);
      CHECK(speed.own_batch > 0);
      CHECK(speed.same_bits);
      CHECK(speed.answers == speeds.measured[0].answers);
      CHECK(speed.max_difference <= kRounding);
      CHECK((speed.max_difference == 0) == (speed.ranks == 1));  // other sums, but nearly the same
    }
    CHECK(speeds.measured[0].answers > kBatch);
    CHECK(counts == (ranks == 1 ? std::vector{1} : std::vector{1, 2, 4, 5}));
    CHECK(speeds.bytes == 4.0 * 100'672);
    draw_speeds({1e-6, 1e-9}, speeds, cost_of, options);
    std::stringstream picture;
    picture << std::ifstream(folder.path() / "ranks.svg").rdbuf();
    CHECK(occurrences(picture.str(), "r=\"3.4\"") == 4 * 11 + 2 * counts.size());  // 1, 2, … 1,024: curves
  }
  CHECK(simd::thread_count() == threads);
}
