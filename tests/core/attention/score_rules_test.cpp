// Rules that every score written as a lambda keeps: one at ties and corners, scores of any rank by ops, and digits over
// a long text.
#include <cmath>
#include <limits>

#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "tests/catch.hpp"
#include "tests/core/attention/attention_checks.hpp"

using namespace tapestry;
using namespace tapestry::checks;

TEST_CASE("at ties and corners a lambda has one rule: halves for min and max, 0 for abs at 0") {
  // All scores are 0, and so is what is learned: the slopes are what the rules of core/ops say they are.
  const Tensor zero = zeros({1, 1, 3, 2}, DType::f64), v = random_normal({1, 1, 4, 3}, 3, DType::f64);
  const auto gradient = [&](auto attention, auto f) {
    Tape tape;
    const Tensor w = variable(zeros({4}, DType::f64));
    const Tensor y = attention(zero, zeros({1, 1, 4, 2}, DType::f64), v,
                               AttendOptions{.score_mod = score_mod(f, learned(w))});
    return tape.gradients(sum(y * y), {w})[0].to_vector();
  };
  const auto check = [&](double factor, auto f) {
    const auto tiles = gradient([](const auto&... x) { return attend(x...); }, f),
               ops = gradient([](const auto&... x) { return attend_by_ops(x...); }, f),
               plain = gradient([](const auto&... x) { return attend(x...); },
                                [](auto s, auto at, auto w) { return s + w(at.j); });
    for (std::size_t j = 0; j < 4; ++j) {
      CHECK(tiles[j] == Approx(factor * plain[j]).margin(1e-14));
      CHECK(ops[j] == Approx(factor * plain[j]).margin(1e-14));
      CHECK(std::abs(plain[j]) > 0.01);
    }
  };
  check(0, [](auto s, auto at, auto w) { return s + abs(w(at.j)); });
  check(0.5, [](auto s, auto at, auto w) { return s + max(w(at.j), 0); });
  check(0.5, [](auto s, auto at, auto w) { return s + min(w(at.j), 0); });
  check(0.5, [](auto s, auto at, auto w) { return max(s, w(at.j)); });
  check(0.25, [](auto s, auto at, auto w) { return max(min(s, w(at.j)), 0 * s); });
  check(1.5, [](auto s, auto at, auto w) { return s + min(w(at.j), 2 * w(at.j)); });
  check(0, [](auto s, auto at, auto w) { return s + floor(w(at.j)) + pow(w(at.j), 2); });
}

TEST_CASE("relu, softplus and silu in a lambda are those of core/ops, with their gradients") {
  const Tensor q = random_normal({1, 2, 3, 4}, 1, DType::f64),
               k = random_normal({1, 2, 19, 4}, 2, DType::f64),
               v = random_normal({1, 2, 19, 5}, 3, DType::f64), table = random_normal({19}, 4, DType::f64);
  const auto run = [&](auto attention, auto f) {
    Tape tape;
    const Tensor w = variable(table), query = variable(q);
    const Tensor y = attention(query, k, v, AttendOptions{.score_mod = score_mod(f, learned(w))});
    std::vector<double> all = y.to_vector();
    for (const Tensor& g : tape.gradients(sum(y * y), {query, w})) {
      const std::vector<double> part = g.to_vector();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  const auto check = [&](auto f) {
    const std::vector<double> tiles = run([](const auto&... x) { return attend(x...); }, f),
                              ops = run([](const auto&... x) { return attend_by_ops(x...); }, f);
    REQUIRE(tiles.size() == ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) CHECK(tiles[i] == Approx(ops[i]).margin(1e-12));
    return ops;
  };
  const auto rectified = check([](auto s, auto at, auto w) { return relu(3 * s) + w(at.j); });
  CHECK(rectified == check([](auto s, auto at, auto w) { return select(s > 0, 3 * s, 0) + w(at.j); }));
  check([](auto s, auto at, auto w) { return softplus(2 * s - w(at.j)); });
  check([](auto s, auto at, auto w) { return silu(s * w(at.j)) + silu(w(at.j)); });
  // Corners: softplus and relu far from 0, relu at 0.
  check([](auto s, auto at, auto w) { return s + softplus(1000 * w(at.j)) * 1e-3 + relu(0 * w(at.j)); });
}

TEST_CASE("comparisons with NaN have one answer on lanes, on dual numbers and by ops") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor q = random_normal({1, 1, 2, 4}, 1, DType::f64), k = random_normal({1, 1, 6, 4}, 2, DType::f64),
               v = random_normal({1, 1, 6, 3}, 3, DType::f64);
  const Tensor odd = tensor({nan, -1, 0, 1, nan, 2}, DType::f64);
  const auto check = [&](std::vector<double> added, auto holds) {
    const auto f = [holds](auto s, auto at, auto x) { return select(holds(x(at.j)), s + 1, s); };
    const auto run = [&](auto attention, const ScoreMod& score) {
      Tape tape;
      const Tensor query = variable(q);
      const Tensor y = attention(query, k, v, AttendOptions{.score_mod = score});
      return std::pair{y.to_vector(), tape.gradients(sum(y * y), {query})[0].to_vector()};
    };
    const auto want = run(
        [](const auto&... x) { return attend(x...); },
        score_mod([](auto s, auto at, auto plus) { return s + plus(at.j); }, tensor(added, {6}, DType::f64)));
    for (const auto& got : {run([](const auto&... x) { return attend(x...); }, score_mod(f, odd)),
                            run([](const auto&... x) { return attend_by_ops(x...); }, score_mod(f, odd))}) {
      for (std::size_t i = 0; i < want.first.size(); ++i)
        CHECK(got.first[i] == Approx(want.first[i]).margin(1e-12));
      for (std::size_t i = 0; i < want.second.size(); ++i)
        CHECK(got.second[i] == Approx(want.second[i]).margin(1e-12));
    }
  };
  check({0, 1, 0, 0, 0, 0}, [](auto x) { return x < 0; });
  check({0, 1, 1, 0, 0, 0}, [](auto x) { return x <= 0; });
  check({0, 0, 0, 1, 0, 1}, [](auto x) { return x > 0; });
  check({0, 0, 1, 1, 0, 1}, [](auto x) { return x >= 0; });
  check({0, 0, 1, 0, 0, 0}, [](auto x) { return x == 0; });
  check({1, 1, 0, 1, 1, 1}, [](auto x) { return x != 0; });
}

TEST_CASE("the rule at ties is the same in ops: maximum, minimum and abs; clamp and relu say their own") {
  const auto slope = [](const auto& f) {
    Tape tape;
    const Tensor x = variable(zeros({1}, DType::f64));
    return tape.gradients(sum(f(x)), {x})[0].item();
  };
  const Tensor zero = zeros({1}, DType::f64);
  CHECK(slope([&](const Tensor& x) { return maximum(x, zero); }) == 0.5);
  CHECK(slope([&](const Tensor& x) { return minimum(zero, x); }) == 0.5);
  CHECK(slope([](const Tensor& x) { return abs(x); }) == 0);
  CHECK(slope([](const Tensor& x) { return clamp(x, 0, 1); }) == 1);
  CHECK(slope([](const Tensor& x) { return relu(x); }) == 0);
}

TEST_CASE("a score_mod by ops takes scores of every rank: a batch row, any number of axes of heads, pairs") {
  const ScoreMod mod =
      score_mod([](auto s, auto at) { return s + 1000 * at.b + 100 * at.h + 10 * at.i + at.j; });
  for (const Dims& shape : {Dims{3, 5}, Dims{1, 1}, Dims{2, 3, 5}, Dims{2, 4, 3, 5}, Dims{2, 2, 3, 3, 5},
                            Dims{2, 1, 2, 3, 1, 5}}) {
    CAPTURE(to_string(shape));
    const int rank = shape.rank();
    Size heads = 1;
    for (int axis = 1; axis < rank - 2; ++axis) heads *= shape[axis];
    const Tensor scores = random_normal(shape, 1, DType::f64);
    const std::vector<double> before = scores.to_vector();
    for (const bool masked : {false, true}) {
      const Mask live = masked ? Mask::causal(shape[rank - 2], shape[rank - 1]) : Mask{};
      const Tensor result = mod.by_ops(scores, live);
      REQUIRE(result.shape() == shape);
      const std::vector<double> after = result.to_vector();
      const Size queries = shape[rank - 2], keys = shape[rank - 1];
      for (Size n = 0; n < shape.count(); ++n) {
        const Size j = n % keys, i = n / keys % queries, item = n / keys / queries;
        if (masked && j > i + keys - queries) continue;
        const Size b = rank > 2 ? item / heads : 0, h = rank > 2 ? item % heads : 0;
        CHECK(after[static_cast<std::size_t>(n)] ==
              Approx(before[static_cast<std::size_t>(n)] +
                     static_cast<double>(1000 * b + 100 * h + 10 * i + j)));
      }
    }
  }
  CHECK_THROWS_WITH(
      mod.by_ops(random_normal({5}, 1, DType::f64)),
      Catch::Matchers::ContainsSubstring("[score_mod] scores (5) must have shape (…, queries, keys)"));
}

TEST_CASE("what a score learns keeps its digits over a long text") {
  // One number for all queries has the gradient of one number each, added up: only adding can differ.
  constexpr Size kLong = 2048;
  const std::vector<Tensor> x{random_normal({1, 2, kLong, 8}, 1), random_normal({1, 2, kLong, 8}, 2),
                              random_normal({1, 2, kLong, 4}, 3)};
  const auto gradient = [&](const Tensor& w, auto f) {
    return run(
        [&](const auto& t) {
          return attend(x[0], x[1], x[2],
                        {.mask = BlockMask::causal(kLong, kLong), .score_mod = score_mod(f, learned(t[0]))});
        },
        {w})[1];
  };
  const double whole = gradient(full({}, 1.5), [](auto s, auto, auto u) { return s * u(); })[0];
  double sum = 0, squares = 0;
  for (const double one :
       gradient(full({2, kLong}, 1.5), [](auto s, auto at, auto u) { return s * u(at.h, at.i); })) {
    sum += one;
    squares += one * one;
  }
  const double error = std::abs(whole - sum) / std::sqrt(squares);
  UNSCOPED_INFO("error " << error);
  CHECK(error < 3e-7);
}
