// Figures worked out on paper, beside the program's.
#include "lessons/kit/check/worked_example.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("a written figure is the computed one, rounded", "[kit]") {
  const auto agrees = [](double computed, double written) {
    std::ostringstream out;
    Report report(out);
    return check_worked_example(report, "it", {{computed, written}});
  };
  CHECK(agrees(0.80442, 0.804));
  CHECK(agrees(-1.95, -1.95));
  CHECK(agrees(2, 2));
  CHECK(agrees(0.1, 0.1));
  CHECK(agrees(0, 0));
  CHECK_FALSE(agrees(0.8052, 0.804));
  CHECK_FALSE(agrees(0.804, -0.804));
  CHECK(agrees(12.4, 12));
  CHECK_FALSE(agrees(13, 12));
  CHECK(agrees(1.46e-5, 1.5e-5));
  CHECK_FALSE(agrees(1.6e-5, 1.5e-5));
  CHECK_FALSE(agrees(1e-4, 1e-5));
  CHECK(agrees(123'456'789'012'345'680'000.0, 1.2345678901234568e20));
  CHECK_FALSE(agrees(1.7e20, 1e20));
  CHECK_FALSE(agrees(1.2, 0));
  CHECK_FALSE(agrees(std::nan(""), 0.5));
  CHECK_FALSE(agrees(std::numeric_limits<double>::infinity(), 0.5));
}

TEST_CASE("figures on paper are one line, with those that differ", "[kit]") {
  std::ostringstream out;
  Report report(out);
  CHECK(check_worked_example(report, "the weights", {{0.8044, 0.804}, {0.1956, 0.196}}));
  CHECK(out.str().find("the weights: 2 figures match the worked example") != std::string::npos);
  CHECK_FALSE(check_worked_example(report, "two", {{0.5, 0.5}, {0.75, 0.25}, {3, 4}}));
  CHECK(out.str().find("two: 3 figures match the worked example: 0.25 should be 0.75, 4 should be 3") !=
        std::string::npos);
  CHECK_FALSE(report.all_met());
}

}  // namespace tapestry::kit
