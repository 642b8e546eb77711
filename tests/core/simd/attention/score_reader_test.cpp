// Gradients of tables that a lambda reads: the last lanes of a row are fewer than a register's.
#include "core/simd/attention/score_reader.hpp"

#include "tests/catch.hpp"
#include "tests/core/simd/guarded.hpp"

namespace tapestry::simd {

TEMPLATE_TEST_CASE("a table's gradient: nothing is written beside it, at any step and number of lanes",
                   "[simd]", float, double) {
  using T = TestType;
  for (Size lanes = 1; lanes <= kLanes<T>; ++lanes)
    for (const Size step : {1, -1, 2}) {
      const Size elements = (lanes - 1) * std::abs(step) + 1;
      for (const Edge edge : {Edge::first, Edge::last}) {
        const std::vector<double> zeros(static_cast<std::size_t>(elements), 0.0);
        const Guarded<double> gradients(zeros.data(), elements, edge);
        Reading<T> reading;
        reading.lanes = lanes;
        reading.places = {true, step > 0 ? 0 : elements - 1, step};
        T change[static_cast<std::size_t>(kLanes<T>)] = {};
        for (Size lane = 0; lane < lanes; ++lane) change[lane] = static_cast<T>(lane + 1);
        reading.add(gradients.data(), load(change));
        for (Size lane = 0; lane < lanes; ++lane)
          REQUIRE(gradients.data()[step > 0 ? lane * step : elements - 1 + lane * step] ==
                  static_cast<double>(lane + 1));
      }
    }
}

}  // namespace tapestry::simd
