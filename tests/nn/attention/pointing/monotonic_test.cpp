// Monotonic attention: its chances against a walk of loops and against draws, gradients, masks, decisions, the layer.
#include "nn/attention/pointing/monotonic.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "core/core.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/on_paper.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using testing::equal_bits;
using testing::f64;
using testing::Row;
using testing::sigmoid_of;

namespace {

/// Raffel et al., equation 8: a sum over where the query before stopped, and a product over what was passed since.
Row as_sums(const Row& scores, const Row& previous) {
  Row chances;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    double come = 0;
    for (std::size_t k = 0; k <= j; ++k) {
      double passed = previous[k];
      for (std::size_t l = k; l < j; ++l) passed *= 1 - sigmoid_of(scores[l]);
      come += passed;
    }
    chances.push_back(sigmoid_of(scores[j]) * come);
  }
  return chances;
}

void check_near(const Row& came, const Row& wanted, double tolerance = 1e-14) {
  REQUIRE(came.size() == wanted.size());
  for (std::size_t i = 0; i < came.size(); ++i) {
    CAPTURE(i, came[i], wanted[i]);
    CHECK(std::abs(came[i] - wanted[i]) <= tolerance);
  }
}

Row row_of(const Tensor& x, Size b, Size t) { return select(select(x, 0, b), 0, t).to_vector(); }

}  // namespace

TEST_CASE("a monotonic step's chances are sums over where one can have come from", "[pointing]") {
  for (const Size keys : {1, 2, 5, 60}) {
    const Tensor scores = random_normal({3, keys}, 1, f64),
                 previous = softmax(random_normal({3, keys}, 2, f64), -1) * 0.8;
    const Tensor came = monotonic_step(transpose(contiguous(transpose(scores))), previous);
    for (Size b = 0; b < 3; ++b)
      check_near(select(came, 0, b).to_vector(),
                 as_sums(select(scores, 0, b).to_vector(), select(previous, 0, b).to_vector()));
  }
}

TEST_CASE("monotonic weights are the shares of walks that stop there", "[pointing]") {
  constexpr Size kQueries = 3, kKeys = 4;
  constexpr int kWalks = 200'000;
  const Tensor scores = random_normal({1, kQueries, kKeys}, 3, f64);
  const Tensor weights = monotonic_weights(scores);
  Row shares(kQueries * kKeys, 0.0);
  const Stream stream(1, 1);
  std::uint64_t draw = 0;
  for (int walk = 0; walk < kWalks; ++walk) {
    Size place = 0;
    for (Size t = 0; t < kQueries; ++t) {
      while (place < kKeys && !(stream.uniform(draw++) < sigmoid_of(scores.at({0, t, place})))) ++place;
      if (place < kKeys) shares[static_cast<std::size_t>(t * kKeys + place)] += 1.0 / kWalks;
    }
  }
  check_near(weights.to_vector(), shares, 0.006);  // five standard errors of a share of ½
}

TEST_CASE("monotonic weights have the right gradients, second ones too", "[pointing]") {
  const Tensor scores = random_normal({2, 3, 5}, 4, f64),
               previous = softmax(random_normal({2, 5}, 5, f64), -1);
  const Mask mask = ValidLengths{5, 3}.mask(5);
  CHECK_GRADIENTS([](const Tensor& s) { return monotonic_weights(s); }, {scores});
  CHECK_GRADIENTS([&](const Tensor& s) { return monotonic_weights(s, mask); }, {scores});
  CHECK_GRADIENTS([](const Tensor& s, const Tensor& p) { return monotonic_step(s, p); },
                  {random_normal({2, 5}, 6, f64), previous});
  const GradcheckResult twice =
      gradgradcheck([](const Tensor& s, const Tensor& p) { return monotonic_step(s, p); },
                    {random_normal({2, 5}, 6, f64), previous});
  INFO(twice.report());
  CHECK(twice.ok());
}

TEST_CASE("nothing is lost where chances are near 0 or 1", "[pointing]") {
  // A quotient of products of 1 − p, as in the paper's appendix, is 0/0 here.
  const Tensor scores = variable(tensor({{60, -60, 60, -60, 60}, {-60, -60, -60, -60, 60}}));
  const Tensor previous = variable(tensor({{0, 1, 0, 0, 0}, {1, 0, 0, 0, 0}}));
  Tape tape;
  const Tensor weights = monotonic_step(scores, previous);
  check_near(weights.to_vector(), {0, 0, 1, 0, 0, 0, 0, 0, 0, 1}, 1e-6);
  tape.backward(sum(weights * tensor({1, 2, 3, 4, 5})));
  CHECK(testing::all_finite(scores.grad()));
  check_near(select(previous.grad(), 0, 0).to_vector(), {1, 3, 3, 5, 5}, 1e-6);
}

TEST_CASE("what the mask hides is passed, and touches nothing", "[pointing]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor scores = random_normal({2, 3, 6}, 8, f64);
  const Mask mask =
      Mask::from(3, 6, [](Size t, Size j) { return j != 2 && j < 5 && t != 1; });  // query 1 sees no key
  const Tensor poisoned = variable(where(mask, scores, scalar(nan, f64)));
  Tape tape;
  const Tensor weights = monotonic_weights(poisoned, mask);
  for (Size b = 0; b < 2; ++b) {
    const Row first = row_of(weights, b, 0), second = row_of(weights, b, 1);
    const Row seen{first[0], first[1], first[3], first[4]}, s = row_of(scores, b, 0);
    check_near(seen, as_sums({s[0], s[1], s[3], s[4]}, {1, 0, 0, 0}));
    CHECK((first[2] == 0 && first[5] == 0));
    CHECK(second == Row(6, 0.0));
    CHECK(row_of(weights, b, 2) == Row(6, 0.0));  // it has come to the end
  }
  tape.backward(sum(weights * weights));
  CHECK(testing::all_finite(poisoned.grad()));
  CHECK(poisoned.grad().at({0, 0, 2}) == 0);
}

TEST_CASE("monotonic attention decides for the first key above 0, and never goes back", "[pointing]") {
  const Tensor scores = tensor({{3, -1, 2, 5}, {3, -1, -2, -5}, {3, 1, 2, 5}, {1, 0, 0, 0}});
  const Tensor previous = tensor({{0, 1, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}});
  CHECK(monotonic_stop(scores, previous).to_vector() == Row{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const Mask mask = Mask::from(1, 4, [](Size, Size j) { return j != 2; });
  CHECK(monotonic_stop(scores, previous, mask).to_vector() ==
        Row{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(monotonic_stop(tensor({{5, 5}}), tensor({{0, 1}})).to_vector() == Row{0, 1});  // it may stay
}

TEST_CASE("chances that are nearly sure are the decision", "[pointing]") {
  const Tensor drawn = random_normal({4, 7, 9}, 9, f64), large = scalar(40, f64);
  const Tensor scores = where(less(scalar(0, f64), drawn), large, -large);
  const Tensor chances = monotonic_weights(scores);
  Tensor previous = pad(ones({4, 1}, f64), -1, 0, 8);
  for (Size t = 0; t < 7; ++t) {
    previous = monotonic_stop(select(scores, 1, t), previous);
    check_near(select(chances, 1, t).to_vector(), previous.to_vector());
  }
}

TEST_CASE("the layer reads one query after another as the normaliser does all", "[pointing]") {
  MonotonicAttention layer(scaled_dot(), {.noise = 0, .first_offset = 0});
  layer.initialise(1, f64);
  const Attention all(scaled_dot(), {.normalise = monotonic_weights});
  const Tensor q = random_normal({2, 4, 3}, 1, f64), k = random_normal({2, 5, 3}, 2, f64),
               v = random_normal({2, 5, 2}, 3, f64);
  const ValidLengths lengths{5, 3};
  const AttentionOutput wanted = all(q, k, v, lengths);
  const PreparedKV memory = layer.prepare(k, v, lengths);
  ScoreState state;
  for (Size t = 0; t < 4; ++t) {
    const AttentionOutput one = layer(slice(q, 1, t, t + 1), memory, state);
    check_near(one.context.to_vector(), slice(wanted.context, 1, t, t + 1).to_vector());
    check_near(one.weights.to_vector(), slice(wanted.weights, 1, t, t + 1).to_vector());
  }
  CHECK(state.step == 4);
}

TEST_CASE("the layer learns its score, its offset and through its noise", "[pointing]") {
  MonotonicAttention layer(normed_additive(3, 3, 4));
  layer.initialise(2, f64);
  CHECK(layer.offset.at({0}) == -1);
  const Tensor q = random_normal({2, 2, 3}, 1, f64), k = random_normal({2, 5, 3}, 2, f64);
  const auto read = [&](const Tensor& query, const Tensor& keys) {
    set_random(7);
    const PreparedKV memory = layer.prepare(keys, keys);
    ScoreState state;
    const AttentionOutput first = layer(slice(query, 1, 0, 1), memory, state);
    return concat({first.context, layer(slice(query, 1, 1, 2), memory, state).context}, 1);
  };
  CHECK_GRADIENTS(read, {q, k}, GradcheckInputs(layer.parameters()));
  const Tensor once = read(q, k);
  CHECK(equal_bits(read(q, k), once));
  layer.eval();
  const Tensor quiet = read(q, k);
  CHECK(!equal_bits(quiet, once));
  MonotonicAttention same(normed_additive(3, 3, 4), {.noise = 0});
  same.load_state(layer.state());
  ScoreState state;
  const Tensor silent = same(slice(q, 1, 0, 1), same.prepare(k, k), state).context;
  CHECK(equal_bits(silent, slice(quiet, 1, 0, 1)));
}

TEST_CASE("noise has the deviation that was asked for", "[pointing]") {
  constexpr Size kRows = 20'000;
  MonotonicAttention layer(dot(), {.noise = 2, .first_offset = 0.5});
  layer.initialise(1, f64);
  set_random(3);
  ScoreState state;
  // One key with a score of 0.5: α is sigmoid(0.5 + 2 n).
  const Tensor zero = zeros({kRows, 1, 1}, f64);
  const Row weights = layer(zero, layer.prepare(zero, zero), state).weights.to_vector();
  double sum = 0, squares = 0;
  for (const double w : weights) {
    const double noise = std::log(w / (1 - w)) - 0.5;
    sum += noise, squares += noise * noise;
  }
  CHECK(std::abs(sum / kRows) < 5 * 2 / std::sqrt(kRows));
  CHECK(std::abs(squares / kRows - 4) < 5 * 4 * std::sqrt(2.0 / kRows));
}

TEST_CASE("in use the layer needs no key behind the one it stops at", "[pointing]") {
  MonotonicAttention layer(dot(), {.first_offset = 0});
  layer.initialise(1, f64);
  const Tensor keys = tensor({{{-1}, {2}, {-3}, {4}}}, f64), values = tensor({{{10}, {20}, {30}, {40}}}, f64),
               one = ones({1, 1, 1}, f64);
  ScoreState state;
  const PreparedKV memory = layer.prepare(keys, values);
  CHECK(layer.stop(one, memory, state).context.item() == 20);
  CHECK(layer.stop(one, memory, state).context.item() == 20);
  CHECK(layer.stop(-one, memory, state).context.item() == 30);
  CHECK(layer.stop(-one, memory, state).context.item() == 30);
  CHECK(layer.stop(one * 2, memory, state).context.item() == 40);
  CHECK(layer.stop(-one, memory, state).context.item() == 0);  // the end
  ScoreState short_state;
  const PreparedKV beginning = layer.prepare(slice(keys, 1, 0, 2), slice(values, 1, 0, 2));
  CHECK(layer.stop(one, beginning, short_state).context.item() == 20);
}

TEST_CASE("monotonic attention without keys, without queries, and with what does not fit", "[pointing]") {
  CHECK(monotonic_weights(zeros({2, 3, 0})).shape() == Dims{2, 3, 0});
  CHECK(monotonic_weights(zeros({2, 0, 3})).shape() == Dims{2, 0, 3});
  CHECK(monotonic_step(zeros({2, 0}), zeros({2, 0})).shape() == Dims{2, 0});
  CHECK(monotonic_stop(zeros({2, 0}), zeros({2, 0})).shape() == Dims{2, 0});
  CHECK_THROWS_AS(monotonic_weights(zeros({3})), Error);
  CHECK_THROWS_AS(monotonic_step(zeros({2, 3}), zeros({2, 4})), Error);
  CHECK_THROWS_AS(monotonic_step(zeros({2, 3}), zeros({2, 3}, f64)), Error);
  CHECK_THROWS_AS(monotonic_stop(zeros({2, 3}), zeros({3})), Error);
  CHECK_THROWS_AS(MonotonicAttention(dot(), {.noise = -1}), Error);
  MonotonicAttention layer(dot());
  layer.initialise(1);
  const Tensor keys = zeros({2, 4, 3});
  CHECK_THROWS_AS(layer.prepare(keys, zeros({2, 5, 3})), Error);
  CHECK_THROWS_AS(layer.prepare(keys, keys, ValidLengths{4}), Error);
  ScoreState state;
  CHECK_THAT(test::message_of([&] {
               layer(zeros({2, 2, 3}), layer.prepare(keys, keys), state);
             }),
             ContainsSubstring("must be (batch, 1, width), got (2,2,3)"));
}
