// Local attention: windows and positions against plain loops, gradients through p_t, padding, errors.
#include <cmath>

#include "core/check/gradcheck.hpp"
#include "nn/attention/attention.hpp"
#include "nn/attention/weight_recorder.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::equal_bits;
using testing::normal;
using testing::randomise;

namespace {

constexpr Size kLocalRows = 2, kLocalQueries = 5, kLocalKeys = 7, kLocalWidth = 3, kLocalHidden = 4;

struct Expected {
  double position = 0;
  std::vector<double> weights;
};

/// Weights of one query over the keys, from its dot products with them.
Expected by_hand(const Local& local, const std::vector<double>& scores, Size valid, double position) {
  const bool fades = local.kind == Local::Kind::predictive;
  const auto reach = static_cast<double>(local.reach);
  const auto inside = [&](std::size_t j) {
    return static_cast<Size>(j) < valid && std::abs(static_cast<double>(j) - position) <= reach;
  };
  Expected expected{position, std::vector<double>(scores.size(), 0.0)};
  double total = 0;
  for (std::size_t j = 0; j < scores.size(); ++j)
    if (inside(j)) total += std::exp(scores[j]);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (!inside(j)) continue;
    const double apart = static_cast<double>(j) - position, sigma = reach / 2;
    expected.weights[j] = std::exp(scores[j]) / total;
    if (fades) expected.weights[j] *= std::exp(-apart * apart / (2 * sigma * sigma));
  }
  return expected;
}

/// p_t of local-p on paper.
double predicted(const State& parameters, const Tensor& q, Size b, Size t, Size valid) {
  const Tensor &w = parameters.at("window.weight"), &v = parameters.at("window.vector");
  double score = 0;
  for (Size u = 0; u < kLocalHidden; ++u) {
    double inside = 0;
    for (Size i = 0; i < kLocalWidth; ++i) inside += w.at({u, i}) * q.at({b, t, i});
    score += v.at({u}) * std::tanh(inside);
  }
  return static_cast<double>(valid) / (1 + std::exp(-score));
}

}  // namespace

TEST_CASE("local attention equals its formula, pair by pair, all queries at once or one by one") {
  for (const Local& local : {local_m(0), local_m(1), local_m(3), local_p(1, kLocalWidth, kLocalHidden),
                             local_p(2, kLocalWidth, kLocalHidden), local_p(9, kLocalWidth, kLocalHidden)})
    for (const std::vector<Size>& lengths : {std::vector<Size>{}, std::vector<Size>{4, 7}}) {
      const bool predicts = local.kind == Local::Kind::predictive;
      INFO((predicts ? "local-p" : "local-m") << " D " << local.reach << ", lengths " << lengths.size());
      Attention attention(dot(), {.local = local});
      randomise(attention, 10);
      CHECK(attention.parameters().size() == (predicts ? 2 : 0));
      const Tensor q = normal({kLocalRows, kLocalQueries, kLocalWidth}, 1),
                   k = normal({kLocalRows, kLocalKeys, kLocalWidth}, 2),
                   v = normal({kLocalRows, kLocalKeys, 2}, 3);
      const PreparedKV memory =
          lengths.empty() ? attention.prepare(k, v) : attention.prepare(k, v, ValidLengths(lengths));
      const AttentionOutput found = attention(q, memory);
      REQUIRE(to_string(found.positions.shape()) == "(2,5)");
      CHECK(equal_bits(found.context, matmul(found.weights, v)));
      for (Size b = 0; b < kLocalRows; ++b)
        for (Size t = 0; t < kLocalQueries; ++t) {
          const Size valid = lengths.empty() ? kLocalKeys : lengths[static_cast<std::size_t>(b)];
          std::vector<double> scores;
          for (Size j = 0; j < kLocalKeys; ++j) {
            double score = 0;
            for (Size i = 0; i < kLocalWidth; ++i) score += q.at({b, t, i}) * k.at({b, j, i});
            scores.push_back(score);
          }
          const double p = predicts ? predicted(attention.state(), q, b, t, valid) : static_cast<double>(t);
          const Expected expected = by_hand(local, scores, valid, p);
          CAPTURE(b, t, p);
          CHECK(std::abs(found.positions.at({b, t}) - expected.position) < 1e-13);
          for (Size j = 0; j < kLocalKeys; ++j)
            CHECK(std::abs(found.weights.at({b, t, j}) - expected.weights[static_cast<std::size_t>(j)]) <
                  1e-14);
        }
      ScoreState state;
      const WeightRecorder recorder(attention);
      for (Size t = 0; t < kLocalQueries; ++t) attention(slice(q, 1, t, t + 1), memory, state);
      REQUIRE(recorder.positions().size() == kLocalQueries);
      CHECK(max(abs(concat(recorder.positions(), 1) - found.positions)).item() < 1e-14);
      CHECK(max(abs(concat(recorder.weights(), 1) - found.weights)).item() < 1e-14);
    }
}

TEST_CASE("local-m with D = 0 copies the value at t; past the end there is nothing") {
  const Attention attention(scaled_dot(), {.local = local_m(0)});
  const Tensor x = normal({2, 5, 3}, 1), keys = slice(x, 1, 0, 3);
  const AttentionOutput found = attention(x, keys, keys);
  CHECK(equal_bits(slice(found.context, 1, 0, 3), keys));
  CHECK(sum(abs(slice(found.context, 1, 3, 5))).item() == 0);
  CHECK(sum(found.weights).item() == 6);
  // Queries that come in lots go on counting.
  ScoreState state;
  const PreparedKV memory = attention.prepare(keys, keys);
  attention(slice(x, 1, 0, 2), memory, state);
  CHECK(state.step == 2);
  CHECK(equal_bits(attention(slice(x, 1, 2, 3), memory, state).context, slice(keys, 1, 2, 3)));
}

TEST_CASE("gradients of local attention reach p_t") {
  const bool predicts = GENERATE(false, true);
  Attention attention(general(kLocalWidth, kLocalWidth),
                      {.local = predicts ? local_p(2, kLocalWidth, kLocalHidden) : local_m(1)});
  randomise(attention, 10);
  const Tensor q = normal({kLocalRows, kLocalQueries, kLocalWidth}, 1),
               k = normal({kLocalRows, kLocalKeys, kLocalWidth}, 2),
               v = normal({kLocalRows, kLocalKeys, 2}, 3);
  const ValidLengths lengths{4, 7};
  if (predicts)  // no key may enter or leave a window under the differences
    for (const double p : attention(q, k, v, lengths).positions.to_vector())
      REQUIRE(std::abs(p - std::round(p)) > 1e-3);
  const auto f = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return attention(a, b, c, lengths).context;
  };
  const GradcheckResult found = gradcheck(f, {q, k, v}, attention.parameters());
  INFO(found.report());
  CHECK(found.ok());
  if (!predicts) return;
  // The positions themselves can be trained on, too.
  std::vector<Tensor> aiming;
  for (const Tensor& leaf : attention.parameters())
    if (leaf.name().starts_with("window.")) aiming.push_back(leaf);
  REQUIRE(aiming.size() == 2);
  const GradcheckResult aim =
      gradcheck([&](const Tensor& a) { return attention(a, k, v, lengths).positions; }, q, aiming);
  INFO(aim.report());
  CHECK(aim.ok());
}

TEST_CASE("local-p's weights are not normalised again, and at the edge fall by e⁻²") {
  Attention attention(dot(), {.local = local_p(2, 1, 1)});
  attention.load_state(
      {{"window.weight", zeros({1, 1}, DType::f64)}, {"window.vector", zeros({1}, DType::f64)}});
  // sigmoid(0) of 8 keys: p = 4, window 2 … 6; equal scores give 1/5 each before the Gaussian.
  const AttentionOutput found =
      attention(zeros({1, 1}, DType::f64), zeros({8, 1}, DType::f64), eye(8, DType::f64));
  CHECK(found.positions.item() == 4);
  const std::vector<double> w = found.weights.to_vector();
  for (const std::size_t j : {0U, 1U, 7U}) CHECK(w[j] == 0);
  CHECK(w[4] == Approx(0.2));
  CHECK(w[3] == Approx(0.2 * std::exp(-0.5)));
  CHECK(w[2] == Approx(0.2 * std::exp(-2.0)));
  CHECK(w[6] == Approx(0.2 * std::exp(-2.0)));
}

TEST_CASE("what local attention may not see touches nothing, nor does a row without keys") {
  Attention attention(general(kLocalWidth, kLocalWidth), {.local = local_p(1, kLocalWidth, kLocalHidden)});
  randomise(attention, 10);
  const ValidLengths lengths{3, 0};
  const Mask rows = lengths.mask(kLocalKeys).reshape({kLocalRows, kLocalKeys, 1});
  const auto run = [&](double poison) {
    const Tensor bad = scalar(poison, DType::f64);
    const Mask asking = Mask::from(kLocalRows, 1, [](Size i, Size) { return i == 0; }).unsqueeze(1);
    const Tensor q = variable(where(asking, normal({kLocalRows, kLocalQueries, kLocalWidth}, 1), bad)),
                 k = variable(where(rows, normal({kLocalRows, kLocalKeys, kLocalWidth}, 2), bad)),
                 v = variable(where(rows, normal({kLocalRows, kLocalKeys, 2}, 3), bad));
    for (const Tensor& leaf : attention.parameters()) leaf.clear_grad();
    Tape tape;
    const Tensor context = attention(q, k, v, lengths).context;
    tape.backward(sum(context * normal({kLocalRows, kLocalQueries, 2}, 4)));
    std::vector<Tensor> results{context.detach(), q.grad(), k.grad(), v.grad()};
    for (const Tensor& x : results) CHECK(sum(abs(select(x, 0, 1))).item() == 0);
    for (const Tensor& leaf : attention.parameters()) results.push_back(leaf.grad());
    return results;
  };
  const auto clean = run(0.5), poisoned = run(std::nan(""));
  for (std::size_t i = 0; i < clean.size(); ++i) {
    CHECK(testing::all_finite(clean[i]));
    CHECK(equal_bits(clean[i], poisoned[i]));
  }
}

TEST_CASE("S is the row's length: one past the last key that a query may see") {
  Attention attention(dot(), {.local = local_p(2, 1, 1)});
  attention.load_state(
      {{"window.weight", zeros({1, 1}, DType::f64)}, {"window.vector", zeros({1}, DType::f64)}});
  const Tensor q = zeros({2, 2, 3, 1}, DType::f64), k = zeros({2, 2, 6, 1}, DType::f64);
  const auto positions = [&](const Mask& mask) { return attention(q, k, k, mask).positions; };
  CHECK(to_string(positions({}).shape()) == "(2,2,3)");
  CHECK(sum(abs(positions({}) - 3.0)).item() == 0);
  // Heads are free, and lengths per query count.
  const Tensor causal = positions(Mask::causal(3, 6));
  CHECK(select(select(causal, 0, 1), 0, 1).to_vector() == std::vector<double>{2, 2.5, 3});
  const Tensor lengths = attention(q, k, k, ValidLengths{4, 2}).positions;
  CHECK(select(select(lengths, 1, 1), 1, 2).to_vector() == std::vector<double>{2, 1});
  const Mask gap = Mask::from(1, 6, [](Size, Size j) { return j == 0 || j == 4; });
  CHECK(select(select(positions(gap), 0, 0), 0, 0).to_vector() == std::vector<double>{2.5, 2.5, 2.5});
}

TEST_CASE("a clone of local attention is another layer with the same numbers") {
  Attention attention(dot(), {.local = local_p(1, kLocalWidth, kLocalHidden)});
  randomise(attention, 10);
  const auto twin = clone(attention);
  const Tensor x = normal({4, kLocalWidth}, 1);
  CHECK(equal_bits((*twin)(x, x, x).weights, attention(x, x, x).weights));
  const Tensor before = attention(x, x, x).weights;
  twin->initialise(7, DType::f64);
  CHECK_FALSE(equal_bits((*twin)(x, x, x).weights, before));
  CHECK(equal_bits(attention(x, x, x).weights, before));
}

TEST_CASE("windows that make no sense are refused") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(Attention(dot(), {.local = local_p(0, 3, 3)}),
                    ContainsSubstring("at least 1 in local-p"));
  CHECK_THROWS_WITH(Attention(dot(), {.local = local_m(-1)}),
                    ContainsSubstring("reach D must be at least 0, got -1"));
  Attention attention(dot(), {.local = local_p(1, 4, 3)});
  randomise(attention, 10);
  const Tensor x = normal({2, 5, 3}, 1);
  CHECK_THROWS_WITH(attention(x, x, x), ContainsSubstring("(2,5,3)") && ContainsSubstring("W_p (3,4)"));
}
