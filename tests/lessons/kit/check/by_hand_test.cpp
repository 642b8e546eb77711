// "By hand equals nn/": what agrees passes, and what differs in value or gradient does not.
#include "lessons/kit/check/by_hand.hpp"

#include <sstream>

#include "core/core.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("by hand is compared in value and gradient", "[kit]") {
  std::ostringstream out;
  Report report(out, {}, Report::Judge::no);  // a check is judged all the same
  const Tensor x = variable(random_normal({2, 3}, 1, DType::f64), "x");
  const auto square = [&] { return x * x; };
  CHECK(check_by_hand(
      report, "square", square, [&] { return pow(x, 2.0); }, {x}, 1));
  CHECK(out.str().find("square: gradcheck of 6 derivatives; nn/ agrees to 1e-12") != std::string::npos);
  CHECK(report.all_met());
  CHECK(!check_by_hand(
      report, "other value", square, [&] { return x * x + 1e-9; }, {x}, 1));
  CHECK(!report.all_met());
  CHECK(!check_by_hand(
      report, "other gradient", square, [&] { return x * x + (x - x.detach()) * 1e-9; }, {x}, 1));
  CHECK(!check_by_hand(
      report, "wrong rule", [&] { return x * x.detach(); }, [&] { return x * x.detach(); }, {x}, 1));
}

}  // namespace tapestry::kit
