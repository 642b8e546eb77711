// Copying: the mixture and its loss against plain loops, gradients, saturated scores, ignored and impossible targets.
#include "nn/attention/pointing/copy.hpp"

#include <cmath>
#include <map>
#include <vector>

#include "core/core.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using testing::f64;

namespace {

constexpr Size kBatch = 2, kSteps = 3, kWords = 4, kPlaces = 5;

/// Row 0 has word 2 twice, name 9 twice and name 70; row 1 names alone, 9 among them.
const Indices& source() {
  static const Indices ids = Indices{2, 9, 2, 70, 9, 8, 9, 8, 8, 50}.reshape({kBatch, kPlaces});
  return ids;
}

CopyScores draw(std::uint64_t seed, DType type = f64) {
  return {random_normal({kBatch, kSteps, kWords}, seed, type),
          softmax(random_normal({kBatch, kSteps, kPlaces}, seed + 1, type), -1).detach(),
          random_normal({kBatch, kSteps}, seed + 2, type)};
}

/// Equation 9 on paper: the words' probabilities at one step.
std::map<std::int64_t, double> on_paper(const CopyScores& s, const Indices& read, Size b, Size t) {
  const double p_gen = 1 / (1 + std::exp(-s.gate.at({b, t})));
  double total = 0;
  for (Size w = 0; w < s.logits.size(2); ++w) total += std::exp(s.logits.at({b, t, w}));
  std::map<std::int64_t, double> p;
  for (Size w = 0; w < s.logits.size(2); ++w) p[w] += p_gen * std::exp(s.logits.at({b, t, w})) / total;
  for (Size j = 0; j < read.shape()[1]; ++j)
    p[read.column(j).to_vector()[static_cast<std::size_t>(b)]] += (1 - p_gen) * s.weights.at({b, t, j});
  return p;
}

}  // namespace

TEST_CASE("a copy mixture is what loops give, unknown words at their first place", "[pointing]") {
  const CopyScores s = draw(1);
  const Tensor p = copy_mixture(s, source());
  REQUIRE(p.shape() == Dims{kBatch, kSteps, kWords + kPlaces});
  const std::vector<std::vector<std::int64_t>> names{{-1, 9, -1, 70, -1},
                                                     {8, 9, -1, -1, 50}};  // at each place
  const std::vector<std::int64_t> likeliest = likeliest_word(p, source()).to_vector();
  for (Size b = 0; b < kBatch; ++b)
    for (Size t = 0; t < kSteps; ++t) {
      auto wanted = on_paper(s, source(), b, t);
      std::int64_t best = 0;
      for (const auto& [word, chance] : wanted) best = chance > wanted[best] ? word : best;
      CHECK(likeliest[static_cast<std::size_t>(b * kSteps + t)] == best);
      double total = 0;
      for (Size w = 0; w < kWords + kPlaces; ++w) {
        const std::int64_t name =
            w < kWords ? w : names[static_cast<std::size_t>(b)][static_cast<std::size_t>(w - kWords)];
        CAPTURE(b, t, w, name);
        CHECK(std::abs(p.at({b, t, w}) - (name < 0 ? 0 : wanted[name])) < 1e-15);
        total += p.at({b, t, w});
      }
      CHECK(std::abs(total - 1) < 1e-14);
    }
}

TEST_CASE("a copy loss is minus the logarithm of what loops give", "[pointing]") {
  const CopyScores s = draw(4);
  // A word that is in the source, too; names; one that is not in the source; one to ignore.
  const Indices targets = Indices{2, 9, 1, 50, -1, 8}.reshape({kBatch, kSteps});
  const Tensor losses = copy_loss(s, source(), targets, {.reduce = Reduce::none});
  double total = 0;
  for (Size b = 0; b < kBatch; ++b)
    for (Size t = 0; t < kSteps; ++t) {
      const std::int64_t target = targets.to_vector()[static_cast<std::size_t>(b * kSteps + t)];
      const double wanted = target < 0 ? 0 : -std::log(on_paper(s, source(), b, t)[target]);
      CAPTURE(b, t);
      CHECK(std::abs(losses.at({b, t}) - wanted) < 1e-14);
      total += wanted;
    }
  CHECK(std::abs(copy_loss(s, source(), targets, {.reduce = Reduce::sum}).item() - total) < 1e-13);
  CHECK(std::abs(copy_loss(s, source(), targets).item() - total / 5) < 1e-14);
  const Indices other = Indices{2, 9, 1, 50, 8, 8}.reshape({kBatch, kSteps});
  CHECK(std::abs(copy_loss(s, source(), other, {.ignore = 8, .reduce = Reduce::sum}).item() - total +
                 losses.at({1, 2})) < 1e-13);
  CHECK(copy_loss(s, source(), Indices(std::vector<std::int64_t>(6, -1), {kBatch, kSteps})).item() == 0);
}

TEST_CASE("a copy mixture and its loss have the right gradients, in any memory order", "[pointing]") {
  const CopyScores s = draw(7);
  const Indices targets = Indices{2, 9, 1, 50, -1, 8}.reshape({kBatch, kSteps});
  const auto leaf = [](const Tensor& x) { return transpose(contiguous(transpose(x))).detach(); };
  const Tensor logits = leaf(s.logits), weights = leaf(s.weights), gate = leaf(s.gate);
  CHECK_GRADIENTS(
      [](const Tensor& l, const Tensor& w, const Tensor& g) {
        return copy_mixture({l, w, g}, source());
      },
      {logits, weights, gate});
  CHECK_GRADIENTS(
      [&](const Tensor& l, const Tensor& w, const Tensor& g) {
        return copy_loss({l, w, g}, source(), targets, {.reduce = Reduce::none});
      },
      {logits, weights, gate});
}

TEST_CASE("a copy loss stays finite where shares are too small for f32", "[pointing]") {
  CopyScores s = draw(10, DType::f32);
  s.gate = variable(full({kBatch, kSteps}, 200.0));  // all is written, and names cannot be
  s.logits = variable(s.logits * 200.0);
  s.weights =
      variable(where(Mask::from(kSteps, kPlaces, [](Size, Size j) { return j == 0; }), s.weights, scalar(0)));
  const Indices targets = Indices{9, 70, 0, 50, 9, 8}.reshape({kBatch, kSteps});
  Tape tape;
  const Tensor loss = copy_loss(s, source(), targets);
  CHECK(std::isfinite(loss.item()));
  CHECK(loss.item() > 100);
  tape.backward(loss);
  for (const Tensor& leaf : {s.gate, s.logits, s.weights}) CHECK(testing::all_finite(leaf.grad()));
  // Towards copying: each name's gate is to fall by the mean's sixth.
  CHECK(std::abs(s.gate.grad().at({0, 0}) - 1.0 / 6) < 1e-6);
}

TEST_CASE("copying from an empty source, of no steps, and of large ones", "[pointing]") {
  const Indices none(std::vector<std::int64_t>{}, {1, 0});
  const CopyScores alone{random_normal({1, 2, 3}, 1, f64), zeros({1, 2, 0}, f64), zeros({1, 2}, f64)};
  const Tensor p = copy_mixture(alone, none);
  CHECK(std::abs(sum(p).item() - 1) < 1e-15);  // half of each step: nothing is there to be copied
  CHECK(likeliest_word(p, none).shape() == Dims{1, 2});
  const CopyScores still{zeros({1, 0, 3}, f64), zeros({1, 0, 2}, f64), zeros({1, 0}, f64)};
  const Indices two = Indices{1, 7}.reshape({1, 2}), nothing(std::vector<std::int64_t>{}, {1, 0});
  CHECK(copy_mixture(still, two).shape() == Dims{1, 0, 5});
  CHECK(copy_loss(still, two, nothing).item() == 0);

  constexpr Size kMany = 300;
  std::vector<std::int64_t> names;
  for (Size j = 0; j < kMany; ++j) names.push_back(1000 + j % 150);
  const CopyScores large{random_normal({1, 40, 700}, 1, f64),
                         softmax(random_normal({1, 40, kMany}, 2, f64), -1), random_normal({1, 40}, 3, f64)};
  const Indices source(names, {1, kMany});
  const std::vector<std::int64_t> wanted(names.begin(), names.begin() + 40);
  const Tensor losses = copy_loss(large, source, Indices(wanted, {1, 40}), {.reduce = Reduce::none});
  for (Size t = 0; t < 40; ++t)
    CHECK(std::abs(losses.at({0, t}) + std::log(on_paper(large, source, 0, t)[1000 + t])) < 1e-13);
}

TEST_CASE("copying says what does not fit", "[pointing]") {
  const CopyScores s = draw(1);
  const auto targets = [](std::int64_t last) {
    return Indices{2, 9, 1, 50, 8, last}.reshape({kBatch, kSteps});
  };
  CHECK_THAT(test::message_of([&] { copy_loss(s, source(), targets(70)); }),
             ContainsSubstring("known or in its row's source, got 70 in row 1, step 2 with 4 known tokens"));
  CHECK_THAT(test::message_of([&] { copy_loss(s, source(), targets(-7)); }),
             ContainsSubstring("must be at least 0, got -7"));
  CHECK_THROWS_AS(copy_loss(s, source(), Indices{1, 2}), Error);
  CHECK_THROWS_AS(copy_mixture({s.logits, s.weights, unsqueeze(s.gate, -1)}, source()), Error);
  CHECK_THROWS_AS(copy_mixture({s.logits, transpose(s.weights), s.gate}, source()), Error);
  CHECK_THROWS_AS(copy_mixture(s, source().reshape({kPlaces, kBatch})), Error);
  CHECK_THROWS_AS(likeliest_word(s.weights, source()), Error);
}
