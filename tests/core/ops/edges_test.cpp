// Edges that the op table's samples do not reach: rows of −∞, ties and NaN in argmax, masks that share
// memory, messages.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/attention/block_mask.hpp"
#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/not_finite.hpp"

using namespace tapestry;
using test::kInf;
using test::kNaN;

TEST_CASE("logsumexp of a row of −∞ is −∞, with a gradient of 0") {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const int axis : {0, 1}) {
      const std::vector<double> values{-kInf, 1, -kInf, -kInf, 2, 0.5};
      Tensor x = tensor(values, {2, 3}, dtype);  // columns 0: both −∞; 1: 1 and 2; 2: −∞ and 0.5
      if (axis == 1) x = transpose(x);
      const Tensor leaf = variable(x);
      Tape tape;
      const Tensor y = logsumexp(leaf, {axis});
      const std::vector<double> got = y.to_vector();
      CHECK(got[0] == -kInf);
      CHECK(got[1] == Approx(std::log(std::exp(1.0) + std::exp(2.0))));
      CHECK(got[2] == Approx(0.5));
      tape.backward(y, tensor({3, 5, 7}, dtype));
      const Tensor g = axis == 1 ? transpose(leaf.grad()) : leaf.grad();
      const double first = 5 * std::exp(1.0) / (std::exp(1.0) + std::exp(2.0));
      const std::vector<double> expected{0, first, 0, 0, 5 - first, 7}, gradient = g.to_vector();
      for (std::size_t i = 0; i < 6; ++i) CHECK(gradient[i] == Approx(expected[i]));
    }
  const Tensor none = variable(tensor({-kInf, -kInf}, DType::f64));
  Tape tape;
  const Tensor y = logsumexp(none, {0});
  const auto g = tape.gradients(y, ones({}, DType::f64), std::vector<Tensor>{none}, {.create_graph = true});
  CHECK(g[0].to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("argmax: the first of equals, the first NaN before all numbers, in every layout") {
  const std::vector<std::vector<double>> rows{{0, kNaN, 5, kNaN, kInf},
                                              {kNaN, kNaN, 1, 2, 3},
                                              {1, 7, 7, 7, 2},
                                              {-0.0, 0.0, -1, 0.0, -0.0},
                                              {-kInf, -kInf, -kInf, -kInf, -kInf},
                                              {1, kInf, 2, kInf, kNaN},
                                              {-5, -4, -4, -9, -4}};
  const std::vector<std::int64_t> first{1, 0, 1, 0, 0, 4, 1};
  for (const Size repeats : {1, 7, 401})  // the row again and again: equals in far places
    for (const DType dtype : {DType::f64, DType::f32}) {
      std::vector<double> values;
      for (const auto& row : rows)
        for (Size i = 0; i < repeats; ++i) values.insert(values.end(), row.begin(), row.end());
      const auto count = static_cast<Size>(rows.size());
      const Tensor x = tensor(values, {count, 5 * repeats}, dtype);
      CAPTURE(repeats);
      CHECK(argmax(x).to_vector() == first);
      CHECK(argmax(transpose(contiguous(transpose(x)))).to_vector() == first);
    }
}

TEST_CASE("embedding: no ids of a table without rows are a result without rows") {
  const Tensor table = variable(zeros({0, 3}), "table");
  Tape tape;
  const Tensor y = embedding(table, Indices(std::vector<std::int64_t>{}, {0, 2}));
  CHECK(y.shape() == Dims{0, 2, 3});
  tape.backward(y, zeros({0, 2, 3}));
  CHECK(table.grad().shape() == Dims{0, 3});
}

TEST_CASE("argmax of more rows than one thread takes") {
  for (const auto& [count, width] : std::vector<std::pair<Size, Size>>{{9001, 7}, {300, 211}, {3, 20'001}}) {
    const Tensor x = random_normal({count, width}, 3, DType::f64);
    const std::vector<double> values = x.to_vector();
    std::vector<std::int64_t> expected;
    for (Size row = 0; row < count; ++row) {
      Size best = 0;
      const double* from = values.data() + row * width;
      for (Size j = 1; j < width; ++j)
        if (from[j] > from[best]) best = j;
      expected.push_back(best);
    }
    const bool same = argmax(x).to_vector() == expected,
               same_turned = argmax(transpose(contiguous(transpose(x)))).to_vector() == expected;
    CHECK((same && same_turned));
  }
}

TEST_CASE("a block mask is remembered for its strides, not for its memory and shape alone") {
  // Rows of the one are columns of the other, in the same memory.
  const Mask line = Mask::from(1, 60, [](Size, Size j) { return j % 7 < 3; });
  const Mask of_keys = line.expand({60, 60}), of_queries = line.reshape({60, 1}).expand({60, 60});
  REQUIRE(of_keys.data() == of_queries.data());
  for (const Mask* mask : {&of_keys, &of_queries, &of_keys}) {
    const std::vector<bool> pairs = BlockMask::from(*mask, 60, 60).mask().to_vector();
    std::vector<bool> expected;
    for (Size i = 0; i < 60; ++i)
      for (Size j = 0; j < 60; ++j) expected.push_back((mask == &of_keys ? j : i) % 7 < 3);
    const bool same = pairs == expected;
    CHECK(same);
  }
}

TEST_CASE("what does not broadcast is named in the order in which it was given") {
  const Tensor a = zeros({2, 3}), b = zeros({4, 3});
  const Mask mask = Mask::causal(1, 3);
  const std::vector<std::pair<const char*, std::function<void(const Tensor&, const Tensor&)>>> ops{
      {"add", [](const Tensor& x, const Tensor& y) { x + y; }},
      {"sub", [](const Tensor& x, const Tensor& y) { x - y; }},
      {"mul", [](const Tensor& x, const Tensor& y) { x* y; }},
      {"div", [](const Tensor& x, const Tensor& y) { x / y; }},
      {"maximum", [](const Tensor& x, const Tensor& y) { maximum(x, y); }},
      {"minimum", [](const Tensor& x, const Tensor& y) { minimum(x, y); }},
      {"less", [](const Tensor& x, const Tensor& y) { less(x, y); }},
      {"less_equal", [](const Tensor& x, const Tensor& y) { less_equal(x, y); }},
      {"greater", [](const Tensor& x, const Tensor& y) { greater(x, y); }},
      {"greater_equal", [](const Tensor& x, const Tensor& y) { greater_equal(x, y); }},
      {"equal", [](const Tensor& x, const Tensor& y) { equal(x, y); }},
      {"where", [&](const Tensor& x, const Tensor& y) { where(mask, x, y); }},
      {"matmul", [](const Tensor& x, const Tensor& y) { matmul(x, y); }},
      {"matmul",
       [](const Tensor& x, const Tensor& y) { matmul(unsqueeze(x, 1), transpose(unsqueeze(y, 1))); }}};
  for (const auto& [name, op] : ops)
    for (const bool exchanged : {false, true}) {
      const std::string told = test::message_of([&, &op = op] { exchanged ? op(b, a) : op(a, b); });
      CAPTURE(told);
      CHECK(told.find(std::string("[") + name + "]") == 0);
      const std::size_t two = told.find("(2,"), four = told.find("(4,");
      REQUIRE((two != told.npos && four != told.npos));
      CHECK((two < four) == !exchanged);
    }
}

TEST_CASE("pow at 0: the gradient of the base is a number, at 0⁰ too") {
  for (const auto& [base, exponent, want] :
       {std::tuple{0.0, 0.0, 0.0}, {0.0, 1.0, 1.0}, {0.0, 2.0, 0.0}, {2.0, 0.0, 0.0}}) {
    CAPTURE(base, exponent);
    const Tensor a = variable(tensor({base}, DType::f64)), b = tensor({exponent}, DType::f64);
    Tape tape;
    const Tensor y = pow(a, b);
    CHECK(y.at({0}) == std::pow(base, exponent));
    CHECK(tape.gradients(sum(y), {a})[0].at({0}) == want);
  }
}

TEST_CASE("sparse normalisers: an infinite score is no weight, and a shift changes nothing") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto op : {sparsemax, entmax15}) {
    const Tensor wrong = op(tensor({1, inf, 0.5}), {}, {});
    for (const double w : wrong.to_vector()) CHECK(std::isnan(w));
    CHECK(op(tensor({1, -inf, 0.5}, DType::f64), {}, {}).at({1}) == 0);
    const Tensor none = op(tensor({-inf, -inf}, DType::f64), {}, {});
    CHECK(none.to_vector() == std::vector<double>{0, 0});
    const Tensor scores = tensor({0.25, -0.5, 0, 0.125}, DType::f64);
    const std::vector<double> want = op(scores, {}, {}).to_vector();
    for (const double shift : {1e3, 1e9, -1e9}) {
      const std::vector<double> got = op(scores + shift, {}, {}).to_vector();
      for (std::size_t i = 0; i < 4; ++i) CHECK(got[i] == Approx(want[i]).margin(1e-6));
    }
    const std::vector<double> far =
        op(tensor({1e9, 1e9 - 64, 1e9}), {}, {}).to_vector();  // f32, whose steps are 64 there
    CHECK(far == std::vector<double>{0.5, 0, 0.5});
  }
}

TEST_CASE("normal numbers are independent of their neighbours") {
  constexpr Size kCount = 200'000;
  const std::vector<double> x = random_normal({kCount}, 77, DType::f64).to_vector();
  // Correlations of n independent pairs are normal with deviation 1/√n, also those of squares and signs.
  for (const std::size_t lag : {1U, 2U, 3U, 4U, 8U, 16U, 1024U}) {
    double plain = 0, squares = 0, mixed = 0;
    for (std::size_t i = 0; i + lag < x.size(); ++i) {
      const double a = x[i], b = x[i + lag];
      plain += a * b, squares += (a * a - 1) * (b * b - 1) / 2, mixed += a * (b * b - 1) / std::sqrt(2.0);
    }
    const double n = static_cast<double>(x.size() - lag);
    CAPTURE(lag);
    CHECK(std::abs(plain) < 4.5 * std::sqrt(n));
    CHECK(std::abs(squares) < 4.5 * std::sqrt(n));
    CHECK(std::abs(mixed) < 4.5 * std::sqrt(n));
  }
}
