// How far apart two ways to the same numbers are.
#include "lessons/kit/check/agreement.hpp"

#include <cmath>
#include <limits>

#include "core/ops/reduce.hpp"
#include "nn/linear.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("a NaN is as far as can be, wherever it stands", "[kit]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor clean = tensor({1, -3, 2}, DType::f64);
  CHECK(largest(clean) == 3);
  CHECK(largest(zeros({0}, DType::f64)) == 0);
  for (const std::vector<double>& spoiled : {std::vector<double>{nan, -3, 2}, {1, -3, nan}}) {
    const Tensor x = tensor(spoiled, {3}, DType::f64);
    CHECK(largest(x) == HUGE_VAL);
    CHECK(farthest({x, clean}, {clean, clean}) == HUGE_VAL);
    CHECK(farthest({clean, clean}, {clean, x}) == HUGE_VAL);
  }
  CHECK(farthest({clean, clean}, {clean, clean * 2.0}) == 3);
  CHECK_THROWS_AS(farthest({clean}, {clean, clean}), Error);
}

TEST_CASE("gradients are those of one random cotangent, the same for two ways", "[kit]") {
  const Tensor x = variable(random_normal({4}, 1, DType::f64), "x");
  const auto square = [&] { return x * x; };
  CHECK(farthest(gradients(square, {x}, 5), {2.0 * x.detach() * random_normal({4}, 5, DType::f64)}) < 1e-15);
  CHECK(farthest(gradients(square, {x}, 5), gradients(square, {x}, 6)) > 0.1);
  CHECK_FALSE(x.has_grad());
}

TEST_CASE("equal places are counted, in per cent", "[kit]") {
  const Indices four = {1, 2, 3, 4}, two = {1, 2}, none(std::vector<std::int64_t>(), {0});
  CHECK(percent_equal(four, {1, 0, 3, 0}) == 50);
  CHECK(percent_equal(two.reshape({2, 1}), two.reshape({2, 1})) == 100);
  CHECK_THROWS_AS(percent_equal(two.reshape({2, 1}), two), Error);
  CHECK_THROWS_AS(percent_equal(none, none), Error);
}

TEST_CASE("a row counts if all of its places are equal", "[kit]") {
  const Indices rows = Indices{1, 2, 3, 4, 5, 6, 7, 8}.reshape({4, 2});
  CHECK(percent_rows_equal(rows, rows) == 100);
  CHECK(percent_rows_equal(rows, Indices{1, 2, 3, 0, 0, 6, 0, 0}.reshape({4, 2})) == 25);
  CHECK_THROWS_AS(percent_rows_equal(rows, rows.reshape({2, 4})), Error);
  CHECK_THROWS_AS(percent_rows_equal(rows.reshape({8}), rows.reshape({8})), Error);
}

TEST_CASE("weights are counted", "[kit]") { CHECK(weights_of(Linear(3, 5)) == 20); }

}  // namespace tapestry::kit
