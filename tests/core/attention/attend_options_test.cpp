// What attend() is told beside its score: masks said in other ways, dropout.
#include <cmath>
#include <string>

#include "core/attention/attend.hpp"
#include "core/check/gradcheck.hpp"
#include "core/ops/dropout.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/core/attention/attention_checks.hpp"

using namespace tapestry;
using namespace tapestry::checks;

namespace {

std::vector<Tensor> inputs_of(const Dims& q, const Dims& k, Size value_width, DType dtype) {
  Dims v = k;
  v.back() = value_width;
  return {random_normal(q, 1, dtype), random_normal(k, 2, dtype), random_normal(v, 3, dtype)};
}

Function with(const AttendOptions& options, std::uint64_t seed = 5) {
  return [=](const std::vector<Tensor>& x) {
    set_random(seed);
    return attend(x[0], x[1], x[2], options);
  };
}

/// Attention as it is written down, step by step, with public ops.
Function written_out(double rate, const Mask& mask, std::uint64_t seed = 5) {
  return [=](const std::vector<Tensor>& x) {
    set_random(seed);
    const Tensor scores = matmul(x[0], transpose(x[1])) / std::sqrt(static_cast<double>(x[0].size(-1)));
    const Tensor weights = mask.defined() ? masked_softmax(scores, mask) : softmax(scores, -1);
    return matmul(dropout(weights, rate), x[2]);
  };
}

}  // namespace

TEST_CASE("attend() takes a Mask and ValidLengths as they are") {
  const auto x = inputs_of({3, 2, 50, 5}, {3, 2, 100, 5}, 4, DType::f64);
  const Mask causal = Mask::causal(50, 100), padding = ValidLengths{3, 100, 0}.mask(100);
  check_near(run(with({.mask = causal}), x), run(written_out(0, causal), x), 1e-12);
  check_near(run(with({.mask = ValidLengths{3, 100, 0}}), x), run(written_out(0, padding.unsqueeze(1)), x),
             1e-12);
  check_near(run(with({.mask = causal & padding}), x),
             run(written_out(0, (causal & padding).unsqueeze(1)), x), 1e-12);
  check_same(
      run(with({.mask = BlockMask::causal(50, 100) & BlockMask::from(ValidLengths{3, 100, 0}, 50, 100)}), x),
      run(with({.mask = causal & padding}), x));
  check_same(run(with({.mask = Mask()}), x), run(with({}), x));
  CHECK_THROWS_AS(attend(x[0], x[1], x[2], {.mask = Mask::causal(50, 99)}), Error);
}

TEST_CASE("dropout in tiles drops the weights that dropout of the matrix drops") {
  struct Case {
    Dims q, k;
    Mask mask;
    double rate;
  };
  for (const Case& c : {Case{{2, 3, 50, 5}, {2, 3, 100, 5}, {}, 0.5},
                        Case{{2, 3, 130, 16}, {2, 3, 97, 16}, Mask::causal(130, 97), 0.1},
                        Case{{1, 1, 7, 3}, {1, 1, 401, 3}, {}, 0.9},
                        Case{{2, 2, 3, 60, 8}, {2, 2, 1, 110, 8}, Mask::window(60, 110, 30, 2), 0.3},
                        Case{{49, 3}, {95, 3}, {}, 0.25}}) {
    CAPTURE(to_string(c.q), to_string(c.k), c.rate);
    const Results want = run(written_out(c.rate, c.mask), inputs_of(c.q, c.k, 4, DType::f64));
    const auto x = inputs_of(c.q, c.k, 4, DType::f64);
    check_near(run(with({.mask = c.mask, .dropout = c.rate}), x), want, 1e-12);
    check_near(run(with({.mask = c.mask, .dropout = c.rate}), inputs_of(c.q, c.k, 4, DType::f32)), want,
               2e-5);
    check_near(run(
                   [&](const std::vector<Tensor>& t) {
                     set_random(5);
                     return attend_by_ops(t[0], t[1], t[2], {.mask = c.mask, .dropout = c.rate});
                   },
                   x),
               want, 1e-12);
    const Results other = run(with({.mask = c.mask, .dropout = c.rate}, 6), x);
    CHECK(other[0] != want[0]);  // another seed drops others
  }
}

TEST_CASE("dropout in tiles: differences, second gradients, with a sink, the same on any number of threads") {
  const auto x = inputs_of({2, 2, 4, 3}, {2, 2, 5, 3}, 2, DType::f64);
  const Mask mask = Mask::causal(4, 5);
  for (const AttendOptions& options :
       {AttendOptions{.mask = mask, .dropout = 0.4},
        AttendOptions{.sink = learned(random_normal({2}, 4, DType::f64)), .dropout = 0.4}}) {
    const auto first = gradcheck(with(options), x), second = gradgradcheck(with(options), x);
    INFO(first.report() << second.report());
    CHECK(first.ok());
    CHECK(second.ok());
  }
  const auto large = inputs_of({3, 4, 100, 16}, {3, 4, 200, 16}, 16, DType::f32);
  const int before = simd::thread_count();
  simd::set_thread_count(1);
  const Results one = run(with({.dropout = 0.2}), large);
  simd::set_thread_count(3);
  check_same(run(with({.dropout = 0.2}), large), one);
  simd::set_thread_count(before);
}

TEST_CASE("dropout keeps what is expected, leaves 0 as it is, and takes one site when it is on") {
  // Values of 1: each query's output is what its weights add up to, 1 on average.
  const Tensor q = zeros({4, 4, 100, 2}), k = zeros({4, 4, 300, 2}), v = ones({4, 4, 300, 1});
  set_random(3);
  double sum = 0, squares = 0;
  const std::vector<double> y = attend(q, k, v, {.dropout = 0.75}).to_vector();
  for (const double one : y) sum += one, squares += one * one;
  const auto count = static_cast<double>(y.size());
  // A sum of 300 equal weights, each 4/300 with chance ¼: variance 3/300, over 1,600 queries.
  const double mean = sum / count;
  CHECK(std::abs(mean - 1) < 4 * std::sqrt(0.01 / count));
  CHECK(squares / count - mean * mean == Approx(0.01).epsilon(0.15));
  CHECK(random_state().site == 1);
  attend(q, k, v, {.dropout = 0});
  CHECK(random_state().site == 1);
}
