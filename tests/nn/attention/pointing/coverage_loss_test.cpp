// Coverage's loss against plain loops, its gradient, and edges.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "nn/attention/pointing/coverage.hpp"
#include "tests/nn/check_gradients.hpp"

using namespace tapestry;

namespace {

Tensor rows(const Dims& shape, std::uint64_t seed) {
  return softmax(random_normal(shape, seed, DType::f64), -1);
}

}  // namespace

TEST_CASE("coverage and its loss are what loops give", "[pointing]") {
  for (const Dims& shape : {Dims{2, 3, 4}, Dims{1, 1, 5}, Dims{3, 7, 1}, Dims{2, 40, 90}}) {
    const Tensor weights = transpose(contiguous(transpose(rows(shape, 1))));
    const Tensor before = covered_before(weights), loss = coverage_loss(weights);
    REQUIRE(before.shape() == shape);
    REQUIRE(loss.shape() == Dims{shape[0], shape[1]});
    double off = 0;
    for (Size b = 0; b < shape[0]; ++b) {
      std::vector<double> so_far(static_cast<std::size_t>(shape[2]), 0.0);
      for (Size t = 0; t < shape[1]; ++t) {
        double again = 0;
        for (Size j = 0; j < shape[2]; ++j) {
          double& covered = so_far[static_cast<std::size_t>(j)];
          off = std::max(off, std::abs(before.at({b, t, j}) - covered));
          again += std::min(weights.at({b, t, j}), covered);
          covered += weights.at({b, t, j});
        }
        off = std::max(off, std::abs(loss.at({b, t}) - again));
      }
    }
    CHECK(off < 1e-13);
  }
}

TEST_CASE("coverage's loss is 0 where nothing is looked at twice, and 1 where all is", "[pointing]") {
  const Tensor each_once = eye(4, DType::f64), one_again = pad(ones({4, 1}, DType::f64), 1, 0, 3);
  CHECK(coverage_loss(each_once).to_vector() == std::vector<double>{0, 0, 0, 0});
  CHECK(coverage_loss(one_again).to_vector() == std::vector<double>{0, 1, 1, 1});
}

TEST_CASE("coverage's loss has the right gradient", "[pointing]") {
  CHECK_GRADIENTS(coverage_loss, {rows({2, 4, 3}, 5)});
  CHECK_GRADIENTS(covered_before, {rows({2, 4, 3}, 6)});
}

TEST_CASE("coverage of no query and of no key", "[pointing]") {
  CHECK(covered_before(zeros({2, 0, 3})).shape() == Dims{2, 0, 3});
  CHECK(coverage_loss(zeros({2, 0, 3})).shape() == Dims{2, 0});
  CHECK(coverage_loss(zeros({2, 3, 0})).to_vector() == std::vector<double>(6, 0.0));
  CHECK_THROWS_AS(coverage_loss(zeros({3})), Error);
  CHECK_THROWS_AS(covered_before(zeros({3})), Error);
}
