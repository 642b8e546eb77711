// Shared helpers of the attention tests: run a function for its values and gradients, and compare two results.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "tests/catch.hpp"
#include "tests/not_finite.hpp"

namespace tapestry::checks {

using test::kInf;
using test::kNaN;

using Function = std::function<Tensor(const std::vector<Tensor>&)>;
/// The value of a function, then the gradient of each argument, in row-major order.
using Results = std::vector<std::vector<double>>;

/// Lets each query attend to each key.
inline bool all_pairs(Size, Size) { return true; }

/// Computes f(inputs) and its gradients for the cotangent dy, which is random if undefined.
inline Results run(const Function& f, const std::vector<Tensor>& inputs, Tensor dy = {}) {
  Tape tape;
  std::vector<Tensor> variables;
  for (const Tensor& x : inputs) variables.push_back(variable(x));
  const Tensor y = f(variables);
  if (!dy.defined()) dy = random_normal(y.shape(), 9, y.dtype());
  Results results{y.to_vector()};
  for (const Tensor& gradient : tape.gradients(y, dy, variables, {.zero_if_unused = true}))
    results.push_back(gradient.to_vector());
  return results;
}

/// Checks that all values are equal (−0 equals 0). Uses one assertion, since printing thousands of values takes
/// minutes.
inline void check_same(const Results& a, const Results& b) {
  const bool same = a == b;
  CHECK(same);
}

/// Checks |a − b| ≤ tolerance · max(1, max |b|), with one assertion per list. A NaN always fails.
inline void check_near(const Results& a, const Results& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t which = 0; which < a.size(); ++which) {
    REQUIRE(a[which].size() == b[which].size());
    double largest = 1;
    for (const double x : b[which])
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    const auto near = [&](double x, double y) { return x == y || std::abs(x - y) <= tolerance * largest; };
    const auto [bad_a, bad_b] = std::mismatch(a[which].begin(), a[which].end(), b[which].begin(), near);
    const bool agree = bad_a == a[which].end();
    if (!agree)
      UNSCOPED_INFO("result " << which << ", element " << bad_a - a[which].begin() << ": " << *bad_a
                              << ", expected " << *bad_b);
    CHECK(agree);
  }
}

}  // namespace tapestry::checks
