// Hard attention: its noise, its draws and their probabilities against plain loops; estimates of a gradient
// against the exact one, which loops over all keys give.
#include "nn/attention/hard.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "nn/attention/attention.hpp"
#include "tests/nn/attention/partial_mask.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/on_paper.hpp"
#include "tests/nn/tensors.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using testing::equal_bits;
using testing::f64;
using testing::partial_mask;
using testing::Row;
using testing::softmax_of;

namespace {

constexpr Size kDraws = 100'000;

const Row& row_of_scores() {
  static const Row row{0.3, -1.2, 1.1, 0.0, 0.7};
  return row;
}
const Row& losses() {
  static const Row row{2.0, 0.4, 3.1, 1.5, 0.2};
  return row;
}
constexpr Size kChoices = 5;

/// The same scores in every row, each of which draws for itself.
Tensor rows(Size count = kDraws) {
  return expand(tensor(row_of_scores(), {kChoices}, f64), {count, kChoices});
}

/// The largest distance of the rows' mean from `wanted`, in standard errors of that mean.
double off(const Tensor& draws, const Row& wanted) {
  const Size n = draws.size(0);
  const std::vector<double> all = draws.to_vector();
  double worst = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    double sum = 0, squares = 0;
    for (std::size_t i = k; i < all.size(); i += wanted.size()) sum += all[i], squares += all[i] * all[i];
    const double mean = sum / static_cast<double>(n);
    const double error = std::sqrt((squares / static_cast<double>(n) - mean * mean) / static_cast<double>(n));
    worst = std::max(worst, std::abs(mean - wanted[k]) / error);
  }
  return worst;
}

double variance(const Tensor& draws) { return sum(var(draws, {0})).item(); }

/// ∂/∂s_k of Σ_a p_a L_a, from all keys.
Row exact_gradient() {
  const Row p = softmax_of(row_of_scores());
  Row gradient(p.size(), 0.0);
  for (std::size_t a = 0; a < p.size(); ++a)
    for (std::size_t k = 0; k < p.size(); ++k) gradient[k] += losses()[a] * p[a] * ((a == k ? 1 : 0) - p[k]);
  return gradient;
}

/// A row for each draw: its estimate of the gradient by the scores, with a baseline that may be a tensor.
template <class Baseline>
Tensor estimates(const Baseline& baseline, Size count = kDraws) {
  set_random(7);
  const Tensor s = variable(rows(count));
  Tape tape;
  const Choice choice = choose(s);
  const Tensor paid = embedding(tensor(losses(), {kChoices}, f64), choice.keys);
  tape.backward(sum(score_function_loss(paid, choice.log_probability, baseline)));
  return s.grad();
}

}  // namespace

TEST_CASE("Gumbel noise has the mean and the variance of its law, and no infinity", "[hard]") {
  const Tensor noise = gumbel_noise({kDraws}, Stream(3, 4), f64);
  const double squares =
      std::numbers::pi * std::numbers::pi / 6;  // its variance; the mean is Euler's constant
  CHECK(std::abs(mean(noise).item() - std::numbers::egamma) < 5 * std::sqrt(squares / kDraws));
  CHECK(std::abs(var(noise).item() - squares) < 0.03 * squares);
  // P(g > 3) = 1 − exp(−e⁻³): the long tail is on the right.
  double above = 0;
  for (const double g : noise.to_vector()) above += g > 3 ? 1 : 0;
  CHECK(std::abs(above / kDraws - (1 - std::exp(-std::exp(-3.0)))) < 0.004);
  CHECK(std::isfinite(max(abs(noise)).item()));
}

TEST_CASE("Gumbel noise depends on stream and place alone, in both types", "[hard]") {
  const Tensor noise = gumbel_noise({4, 6}, Stream(3, 4), f64);
  CHECK(equal_bits(gumbel_noise({4, 6}, Stream(3, 4)), noise.to(DType::f32)));
  CHECK(equal_bits(gumbel_noise({5}, Stream(3, 4), f64), slice(reshape(noise, {24}), 0, 0, 5)));
  CHECK_FALSE(equal_bits(gumbel_noise({4, 6}, Stream(3, 5), f64), noise));
  CHECK_FALSE(equal_bits(gumbel_noise({4, 6}, Stream(2, 4), f64), noise));
  CHECK(gumbel_noise({0, 3}, Stream(1, 1)).count() == 0);
  // Which number it is, so that a seed gives the same draws in years to come.
  const double u = Stream(3, 4).uniform(9);
  CHECK(std::abs(noise.at({1, 3}) + std::log(-std::log(1 - u))) < 1e-12);
}

TEST_CASE("keys are drawn with the probabilities of softmax", "[hard]") {
  set_random(5);
  const Choice choice = choose(rows());
  CHECK(off(choice.weights, softmax_of(row_of_scores())) < 5);
  // Under a mask, those of the keys that are left.
  const Mask some = Mask::from(1, kChoices, [](Size, Size j) { return j == 0 || j == 2; });
  const Choice of_two = choose(rows(), some);
  const Row two = softmax_of({row_of_scores()[0], row_of_scores()[2]});
  CHECK(off(slice(of_two.weights, 1, 0, 1), {two[0]}) < 5);
  CHECK(max(of_two.weights, {0}).to_vector() == Row{1, 0, 1, 0, 0});
}

TEST_CASE("a choice is one key, its number, and the logarithm of its probability", "[hard]") {
  const Tensor x = random_normal({2, 3, kChoices}, 1, f64);
  for (const Mask& may : {Mask(), partial_mask()}) {
    set_random(2);
    const Choice choice = choose(x, may);
    REQUIRE(to_string(choice.weights.shape()) == "(2,3,5)");
    REQUIRE(to_string(choice.keys.shape()) == "(2,3)");
    REQUIRE(to_string(choice.log_probability.shape()) == "(2,3)");
    const std::vector<bool> allowed =
        may.defined() ? may.expand(x.shape()).to_vector() : std::vector<bool>(30, true);
    const std::vector<std::int64_t> keys = choice.keys.to_vector();
    for (Size b = 0; b < 2; ++b)
      for (Size i = 0; i < 3; ++i) {
        CAPTURE(b, i);
        const std::int64_t key = keys[static_cast<std::size_t>(b * 3 + i)];
        double total = 0;
        for (Size j = 0; j < kChoices; ++j) {
          const bool seen = allowed[static_cast<std::size_t>((b * 3 + i) * kChoices + j)];
          total += seen ? std::exp(x.at({b, i, j})) : 0;
          CHECK(choice.weights.at({b, i, j}) == (j == key ? 1 : 0));
          if (j == key) CHECK(seen);
        }
        if (may.defined() && i == 1) {
          CHECK(key == -1);
          CHECK(choice.log_probability.at({b, i}) == 0);
        } else {
          REQUIRE(key >= 0);
          CHECK(std::abs(choice.log_probability.at({b, i}) - (x.at({b, i, key}) - std::log(total))) < 1e-13);
        }
      }
  }
}

TEST_CASE("gradients of a choice's probability, and of what is made of it", "[hard]") {
  const Tensor x = random_normal({2, 3, kChoices}, 1, f64), costs = random_normal({2, 3}, 2, f64);
  for (const Mask& may : {Mask(), partial_mask()}) {
    CHECK_GRADIENTS(
        [&](const Tensor& s) {
          set_random(2);
          return choose(s, may).log_probability;
        },
        x);
    CHECK_GRADIENTS(
        [&](const Tensor& s) {
          set_random(2);
          return score_function_loss(costs, choose(s, may).log_probability, 0.3);
        },
        x);
    CHECK_GRADIENTS(
        [&](const Tensor& s) {
          set_random(2);
          return gumbel_softmax(0.7)(s, may);
        },
        x);
  }
}

TEST_CASE("100,000 estimates by the score function have the exact gradient as their mean", "[hard]") {
  const Row wanted = exact_gradient();
  const double expected = 2.0;  // about the expected loss
  const Tensor without = estimates(0.0), with = estimates(expected),
               with_tensor = estimates(tensor({expected}, f64));
  CHECK(off(without, wanted) < 5);
  CHECK(off(with, wanted) < 5);
  CHECK(equal_bits(with_tensor, with));
  // A worse baseline is right, too, and varies more; so the bound above can tell a mean that is off.
  const Tensor far = estimates(-20.0);
  CHECK(off(far, wanted) < 5);
  CHECK(variance(with) < 0.7 * variance(without));
  CHECK(variance(far) > 20 * variance(without));
  Row moved = wanted;
  moved[0] += 0.02;
  CHECK(off(with, moved) > 5);
}

TEST_CASE("a gradient that losses have by themselves flows beside the estimate", "[hard]") {
  // Loss of key a: a weight of its own. The expected loss has the gradient p_a by it.
  set_random(7);
  const Tensor cost = variable(expand(tensor(losses(), {kChoices}, f64), {kDraws, kChoices})),
               s = variable(rows());
  Tape tape;
  const Choice choice = choose(s);
  const Tensor paid = sum(choice.weights * cost, {-1});
  tape.backward(sum(score_function_loss(paid, choice.log_probability, 2.0)));
  CHECK(off(cost.grad(), softmax_of(row_of_scores())) < 5);
  CHECK(off(s.grad(), exact_gradient()) < 5);
}

TEST_CASE("neither a baseline nor the factor of ln p gets a gradient", "[hard]") {
  const Tensor costs = variable(tensor({1, 2}, f64), "losses"),
               log_p = variable(tensor({-0.5, -3}, f64), "log p"),
               b = variable(tensor({0.25}, f64), "baseline");
  Tape tape;
  const Tensor loss = score_function_loss(costs, log_p, b * 2.0);
  CHECK(loss.to_vector() == Row{1 + 0.5 * -0.5, 2 + 1.5 * -3});
  tape.backward(sum(loss));
  CHECK(costs.grad().to_vector() == Row{1, 1});
  CHECK(log_p.grad().to_vector() == Row{0.5, 1.5});
  CHECK_FALSE(b.has_grad());
}

TEST_CASE("Gumbel-softmax is the softmax of noisy scores over the pairs that may attend", "[hard]") {
  const Tensor x = random_normal({2, 3, kChoices}, 1, f64);
  for (const double tau : {0.2, 1.0, 3.0}) {
    set_random(2, 3);
    const Tensor found = gumbel_softmax(tau)(x, partial_mask());
    set_random(2, 3);
    const Tensor noise = gumbel_noise(x.shape(), next_stream(), f64);
    const std::vector<bool> allowed = partial_mask().expand(x.shape()).to_vector();
    for (Size b = 0; b < 2; ++b)
      for (Size i = 0; i < 3; ++i) {
        Row seen;
        std::vector<Size> places;
        for (Size j = 0; j < kChoices; ++j)
          if (allowed[static_cast<std::size_t>((b * 3 + i) * kChoices + j)]) {
            seen.push_back((x.at({b, i, j}) + noise.at({b, i, j})) / tau);
            places.push_back(j);
          } else {
            CHECK(found.at({b, i, j}) == 0);
          }
        const Row wanted = softmax_of(seen);
        for (std::size_t n = 0; n < places.size(); ++n)
          CHECK(std::abs(found.at({b, i, places[n]}) - wanted[n]) < 1e-13);
      }
  }
}

TEST_CASE("straight-through has a draw's value and the soft gradient", "[hard]") {
  const Tensor x = random_normal({2, 3, kChoices}, 1, f64), dy = random_normal({2, 3, kChoices}, 2, f64);
  const auto gradient = [&](GumbelKind kind) {
    set_random(2);
    const Tensor s = variable(x);
    Tape tape;
    tape.backward(sum(gumbel_softmax(0.6, kind)(s, partial_mask()) * dy));
    return s.grad();
  };
  CHECK(equal_bits(gradient(GumbelKind::straight_through), gradient(GumbelKind::soft)));
  CHECK(max(abs(gradient(GumbelKind::soft))).item() > 0.01);
  for (const Mask& may : {Mask(), partial_mask()}) {
    set_random(2);
    const Tensor weights = gumbel_softmax(0.6, GumbelKind::straight_through)(x, may);
    set_random(2);
    CHECK(equal_bits(weights, choose(x, may).weights));  // the same noise, so the same draw
  }
}

TEST_CASE("Gumbel-softmax tends to a draw as it cools, and to equal weights as it warms", "[hard]") {
  set_random(2);
  const Tensor cold = gumbel_softmax(1e-4)(rows(50), {});
  set_random(2);
  CHECK(max(abs(cold - choose(rows(50)).weights)).item() < 1e-9);
  CHECK(max(abs(gumbel_softmax(1e9)(rows(50), {}) - 0.2)).item() < 1e-7);
}

TEST_CASE("the estimate of warm Gumbel-softmax is biased", "[hard]") {
  // With losses that are linear in the weights: c = Σ w_j L_j.
  const auto by_noise = [](double tau) {
    set_random(7);
    const Tensor s = variable(rows());
    Tape tape;
    tape.backward(
        sum(matmul(gumbel_softmax(tau)(s, {}), reshape(tensor(losses(), {kChoices}, f64), {kChoices, 1}))));
    return s.grad();
  };
  const Tensor cold = by_noise(0.1), warm = by_noise(2);
  CHECK(off(warm, exact_gradient()) > 20);
  CHECK(off(cold, exact_gradient()) < 6);
  CHECK(variance(cold) > 5 * variance(warm));
}

TEST_CASE("what stands outside the mask touches neither draws nor gradients", "[hard]") {
  const Tensor x = random_normal({2, 3, kChoices}, 1, f64), dy = random_normal({2, 3, kChoices}, 2, f64),
               costs = random_normal({2, 3}, 3, f64);
  const auto run = [&](double there) {
    set_random(2);
    const Tensor s = variable(where(partial_mask(), x, scalar(there, f64)));
    Tape tape;
    const Choice choice = choose(s, partial_mask());
    const Tensor soft = gumbel_softmax(0.6)(s, partial_mask()),
                 hard = gumbel_softmax(0.6, GumbelKind::straight_through)(s, partial_mask());
    tape.backward(sum(score_function_loss(costs, choice.log_probability)) + sum((soft + hard) * dy));
    return std::vector<Tensor>{choice.weights, choice.log_probability.detach(), soft.detach(), hard.detach(),
                               s.grad()};
  };
  const auto clean = run(0);
  CHECK(sum(abs(clean.back())).item() > 0.1);
  for (const double poison : {std::nan(""), std::numeric_limits<double>::infinity(), -1e300}) {
    const auto poisoned = run(poison);
    for (std::size_t i = 0; i < clean.size(); ++i) CHECK(equal_bits(clean[i], poisoned[i]));
  }
}

TEST_CASE("draws follow the seed and the step, not the threads, and the next one is another", "[hard]") {
  const auto run = [](std::uint64_t seed, std::uint64_t step, int threads = 4) {
    const test::Threads scope(threads);
    set_random(seed, step);
    const Tensor x = random_normal({64, 300}, 1);
    const Tensor first = choose(x).weights, second = choose(x).weights;
    return concat({first, second, gumbel_softmax(0.5)(x, {})}, 0);
  };
  const Tensor alone = run(3, 4, 1);
  CHECK(equal_bits(run(3, 4), alone));
  CHECK_FALSE(equal_bits(run(3, 5), alone));
  CHECK_FALSE(equal_bits(run(4, 4), alone));
  CHECK_FALSE(equal_bits(slice(alone, 0, 0, 64), slice(alone, 0, 64, 128)));
  const Normaliser soft = gumbel_softmax(0.5);
  CHECK_FALSE(equal_bits(soft(alone, {}), soft(alone, {})));
}

TEST_CASE("a checkpoint draws again what it drew", "[hard]") {
  const Tensor x = random_normal({3, kChoices}, 1, f64), dy = random_normal({3, kChoices}, 2, f64);
  const auto gradient = [&](const auto& f) {
    set_random(9);
    const Tensor s = variable(x);
    Tape tape;
    tape.backward(sum(f(s) * dy));
    return s.grad();
  };
  const auto soft = [](const Tensor& s) { return gumbel_softmax(0.5)(s, {}); };
  CHECK(equal_bits(gradient([&](const Tensor& s) { return checkpoint(soft, s); }), gradient(soft)));
}

TEST_CASE("hard pieces take any strides, no rows, one key, and scores far apart", "[hard]") {
  const Tensor x = random_normal({kChoices, 3}, 1, f64);
  set_random(2);
  const Choice strided = choose(transpose(x));
  const Tensor soft = gumbel_softmax(0.5)(transpose(x), {});
  set_random(2);
  const Choice dense = choose(contiguous(transpose(x)));
  CHECK(equal_bits(strided.weights, dense.weights));
  CHECK(equal_bits(strided.log_probability, dense.log_probability));
  CHECK(equal_bits(soft, gumbel_softmax(0.5)(contiguous(transpose(x)), {})));

  const Choice none = choose(zeros({0, 3}));
  CHECK(none.keys.count() == 0);
  CHECK(none.log_probability.count() == 0);
  CHECK(to_string(gumbel_softmax(1)(zeros({0, 3}), {}).shape()) == "(0,3)");

  const Choice one = choose(tensor({{-4}, {9}}, f64));
  CHECK(one.keys.to_vector() == std::vector<std::int64_t>{0, 0});
  CHECK(one.log_probability.to_vector() == Row{0, 0});
  CHECK(choose(tensor({1e30, -1e30, 0})).keys.to_vector() == std::vector<std::int64_t>{0});
  CHECK(choose(tensor({1e30, -1e30, 0})).log_probability.item() == 0);
}

TEST_CASE("hard weights serve in the attention pipeline: one value is read", "[hard]") {
  const Tensor x = random_normal({2, 4, 3}, 1, f64);
  const Attention attention(dot(), {.normalise = gumbel_softmax(1, GumbelKind::straight_through)});
  set_random(2);
  const AttentionOutput found = attention(x, x, x, Mask::causal(4, 4));
  set_random(2);
  const Choice choice = choose(matmul(x, transpose(x)), Mask::causal(4, 4));
  CHECK(equal_bits(found.weights, choice.weights));
  const std::vector<std::int64_t> keys = choice.keys.to_vector();
  for (Size b = 0; b < 2; ++b)
    for (Size i = 0; i < 4; ++i)
      for (Size d = 0; d < 3; ++d)
        CHECK(found.context.at({b, i, d}) == x.at({b, keys[static_cast<std::size_t>(b * 4 + i)], d}));
}

TEST_CASE("a moving baseline begins with the first batch, and follows", "[hard]") {
  MovingBaseline baseline(0.75);
  CHECK(baseline.value() == 0);
  baseline.add(tensor({{1, 3}, {2, 2}}));
  CHECK(baseline.value() == 2);
  baseline.add(tensor({6}));
  CHECK(baseline.value() == 3);  // 3/4 · 2 + 1/4 · 6
  const Tensor x = variable(tensor({7, 7}));
  Tape tape;
  const Tensor y = x * 1.0;
  const std::size_t before = tape.size();
  baseline.add(y);
  CHECK(tape.size() == before);
  CHECK(baseline.value() == 4);
}

TEST_CASE("misuse of hard attention is one sentence", "[hard]") {
  CHECK_THROWS_WITH(gumbel_softmax(0),
                    ContainsSubstring("[gumbel_softmax] temperature must be positive and finite, got 0"));
  CHECK_THROWS_AS(gumbel_softmax(-1), Error);
  CHECK_THROWS_AS(gumbel_softmax(std::nan("")), Error);
  CHECK_THROWS_AS(gumbel_softmax(std::numeric_limits<double>::infinity()), Error);
  CHECK_THROWS_WITH(
      choose(zeros({2, 0})),
      ContainsSubstring("[choose] scores must be (…, queries, keys) with at least one key, got (2,0)"));
  CHECK_THROWS_AS(choose(scalar(1)), Error);
  const Mask wide = Mask::from(4, 1, [](Size, Size) { return true; }).reshape({4, 1, 1});
  CHECK_THROWS_AS(choose(zeros({2, 3}), wide), Error);
  CHECK_THROWS_AS(gumbel_softmax(1, GumbelKind::straight_through)(zeros({2, 3}), wide), Error);
  CHECK_THROWS_WITH(score_function_loss(zeros({2, 3}), zeros({2})),
                    ContainsSubstring("must have one shape, got (2,3) and (2)"));
  CHECK_THROWS_WITH(score_function_loss(zeros({2}), zeros({2}), zeros({4, 2})),
                    ContainsSubstring("must broadcast to losses, got baseline (4,2) and losses (2)"));
  CHECK_THROWS_WITH(MovingBaseline(1), ContainsSubstring("decay must be in [0, 1), got 1"));
  CHECK_THROWS_AS(MovingBaseline(-0.1), Error);
  CHECK_THROWS_WITH(MovingBaseline().add(zeros({0})),
                    ContainsSubstring("must have at least one element, got (0)"));
}
