// op() with lists of arguments whose length is known only when it runs.
#include "core/tape/op.hpp"

#include <algorithm>

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

using Values = std::vector<double>;

/// Leaves of sizes 0, 1, 2, 0, 1, 2, …; every fifth is a constant, and every seventh is frozen.
std::vector<Tensor> parts_of(std::size_t count) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor values = random_normal({static_cast<Size>(i % 3)}, i, DType::f64);
    parts.push_back(i % 5 == 0 ? values : variable(values));
    if (i % 7 == 0 && i % 5 != 0) set_frozen(parts.back(), true);
  }
  return parts;
}

bool gets_a_gradient(std::size_t i) { return i % 5 != 0 && i % 7 != 0; }

/// Σ_i (i + 1) x_i of numbers, by one rule for all of them.
Tensor weighted_sum(const PoolVector<const Tensor*>& xs, std::size_t returned) {
  double value = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) value += static_cast<double>(i + 1) * xs[i]->item();
  return op<"add">({}, scalar(value, DType::f64), wrt_all(xs, [returned](const Tensor& dy) {
                     PoolVector<Tensor> gradients;
                     for (std::size_t i = 0; i < returned; ++i)
                       gradients.push_back(dy * static_cast<double>(i + 1));
                     return gradients;
                   }));
}

}  // namespace

TEST_CASE("each of a list of arguments has its own rule, however long the list") {
  for (const std::size_t count : {1U, 2U, 62U, 63U, 64U, 65U, 300U}) {
    CAPTURE(count);
    const std::vector<Tensor> parts = parts_of(count);
    Tape tape;
    const Tensor y = concat(parts, 0);
    const bool any = count > 1;
    CHECK(tape.size() == (any ? 1U : 0U));  // one node for all
    if (!any) continue;
    const Tensor dy = random_normal(y.shape(), 3, DType::f64);
    tape.backward(y, dy);
    const Values all = dy.to_vector();
    auto from = all.begin();
    for (std::size_t i = 0; i < count; ++i) {
      const Values own(from, from + parts[i].count());
      from += parts[i].count();
      CHECK(parts[i].has_grad() == gets_a_gradient(i));
      if (gets_a_gradient(i)) CHECK(parts[i].grad().to_vector() == own);
    }
  }
}

TEST_CASE("one of a list asks for a gradient, wherever it stands") {
  for (const std::size_t place : {0U, 62U, 63U, 64U, 99U}) {
    std::vector<Tensor> parts(100, scalar(1, DType::f64));
    parts[place] = variable(scalar(2, DType::f64));
    Tape tape;
    const Tensor y = stack(parts, 0);
    tape.backward(y, arange(0, 100, 1, DType::f64));
    CHECK(parts[place].grad().item() == static_cast<double>(place));
  }
}

TEST_CASE("second derivatives go through lists") {
  const Tensor x = variable(tensor({2, 3}, DType::f64));
  Tape tape;
  const Tensor y = sum(pow(concat({x, x * x}, 0), 3));  // x³ + x⁶
  const Tensor first = tape.gradients(y, {x}, {.create_graph = true})[0];
  CHECK(first.to_vector() == Values{3 * 4 + 6 * 32, 3 * 9 + 6 * 243});
  CHECK(tape.gradients(sum(first), {x})[0].to_vector() == Values{6 * 2 + 30 * 16, 6 * 3 + 30 * 81});
}

TEST_CASE("one rule serves a list of any length, and returns as long a list") {
  for (const std::size_t count : {1U, 63U, 64U, 255U, 256U, 257U, 1000U}) {
    CAPTURE(count);
    std::vector<Tensor> numbers;
    PoolVector<const Tensor*> xs;
    for (std::size_t i = 0; i < count; ++i) {
      const Tensor x = scalar(static_cast<double>(i), DType::f64);
      numbers.push_back(i % 2 == 0 ? variable(x) : x);
    }
    for (const Tensor& x : numbers) xs.push_back(&x);
    Tape tape;
    tape.backward(weighted_sum(xs, count));
    for (std::size_t i = 0; i < count; i += 2)
      REQUIRE(numbers[i].grad().item() == static_cast<double>(i + 1));
    const Tensor y = weighted_sum(xs, count + 1);
    CHECK_THROWS_WITH(
        tape.backward(y),
        ContainsSubstring(fmt::format("a rule of {} arguments must return one gradient for each, got {}",
                                      count, count + 1)));
  }
}

TEST_CASE("one rule serves at most 65535 arguments, and says so") {
  const Tensor x = variable(scalar(0, DType::f64));
  const PoolVector<const Tensor*> most(65535, &x), more(65536, &x);
  Tape tape;
  tape.backward(weighted_sum(most, most.size()));
  CHECK(x.grad().item() == 65535.0 * 65536.0 / 2);
  CHECK_THROWS_WITH(weighted_sum(more, more.size()),
                    ContainsSubstring("[add] a joint rule must have at most 65535 arguments, got 65536"));
}
