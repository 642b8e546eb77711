// Gradients of tables that a lambda reads: the last lanes of a row are fewer than a register's.
#include "core/simd/attention/score_reader.hpp"

#include <vector>

#include "core/simd/attention/learned_sums.hpp"
#include "tests/catch.hpp"

namespace tapestry::simd {

TEMPLATE_TEST_CASE("a table's gradient: no neighbour changes, at any step and number of lanes", "[simd]",
                   float, double) {
  using T = TestType;
  for (Size lanes = 1; lanes <= kLanes<T>; ++lanes)
    for (const Size step : {1, -1, 2}) {
      const Size elements = (lanes - 1) * std::abs(step) + 1;
      // The table's numbers begin within a page of sums, or cross into the next one.
      for (const Size before : {kLanes<T>, LearnedSums::kPage - 1}) {
        const Size count = before + elements + kLanes<T>, first = before + (step > 0 ? 0 : elements - 1);
        LearnedSums sums(count);
        Reading<T> reading;
        reading.lanes = lanes;
        reading.places = {true, first, step};
        T change[static_cast<std::size_t>(kLanes<T>)] = {};
        std::vector<double> added(static_cast<std::size_t>(count)), expected = added;
        for (Size lane = 0; lane < lanes; ++lane) {
          change[lane] = static_cast<T>(lane + 1);
          expected[static_cast<std::size_t>(first + lane * step)] = static_cast<double>(lane + 1);
        }
        reading.add(sums, load(change));
        for (Size page = 0; page < sums.pages(); ++page) sums.add_page_to(added.data(), page);
        REQUIRE(added == expected);
      }
    }
}

}  // namespace tapestry::simd
