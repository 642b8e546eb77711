// Coverage, the additive score's option: the weights that a key has got so far enter its score.
#include <cmath>

#include "core/check/gradcheck.hpp"
#include "nn/attention/attention.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::equal_bits;
using testing::normal;

namespace {

constexpr Size kRows = 2, kSteps = 3, kKeys = 4, kQuery = 3, kKey = 2, kHidden = 5;

/// Three queries one after another: contexts (rows, steps, width) and weights (rows, steps, keys).
AttentionOutput look_along(const Attention& attention, const Tensor& queries, const PreparedKV& memory) {
  ScoreState state;
  std::vector<Tensor> contexts, weights;
  for (Size t = 0; t < queries.size(1); ++t) {
    const AttentionOutput one = attention(slice(queries, 1, t, t + 1), memory, state);
    contexts.push_back(one.context);
    weights.push_back(one.weights);
  }
  return {concat(contexts, 1), concat(weights, 1)};
}

}  // namespace

TEST_CASE("coverage adds what a key has got so far, as a loop computes it") {
  Attention attention(additive(kQuery, kKey, kHidden, Coverage::yes));
  attention.initialise(1, DType::f64);
  const std::vector<Size> lengths{4, 3};
  const Tensor q = normal({kRows, kSteps, kQuery}, 1), k = normal({kRows, kKeys, kKey}, 2);
  const AttentionOutput found = look_along(attention, q, attention.prepare(k, k, ValidLengths(lengths)));

  const State parameters = attention.state();
  const Tensor &wq = parameters.at("query.weight"), &wk = parameters.at("key.weight"),
               &v = parameters.at("score.weight"), &wc = parameters.at("coverage.weight");
  for (Size b = 0; b < kRows; ++b) {
    const Size valid = lengths[static_cast<std::size_t>(b)];
    std::vector<double> so_far(kKeys, 0.0);
    for (Size t = 0; t < kSteps; ++t) {
      std::vector<double> weights;
      double total = 0;
      for (Size j = 0; j < valid; ++j) {
        double score = 0;
        for (Size u = 0; u < kHidden; ++u) {
          double inside = wc.at({u}) * so_far[static_cast<std::size_t>(j)];
          for (Size i = 0; i < kQuery; ++i) inside += wq.at({u, i}) * q.at({b, t, i});
          for (Size i = 0; i < kKey; ++i) inside += wk.at({u, i}) * k.at({b, j, i});
          score += v.at({u}) * std::tanh(inside);
        }
        weights.push_back(std::exp(score));
        total += weights.back();
      }
      for (Size j = 0; j < kKeys; ++j) {
        const double wanted = j < valid ? weights[static_cast<std::size_t>(j)] / total : 0;
        CAPTURE(b, t, j);
        CHECK(std::abs(found.weights.at({b, t, j}) - wanted) < 1e-14);
        so_far[static_cast<std::size_t>(j)] += wanted;
      }
    }
  }
}

TEST_CASE("gradients through three steps with coverage") {
  Attention attention(additive(kQuery, kKey, kHidden, Coverage::yes));
  attention.initialise(2, DType::f64);
  const auto f = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    const AttentionOutput found = look_along(attention, q, attention.prepare(k, v, ValidLengths{4, 3}));
    return concat({found.context, found.weights}, -1);
  };
  const GradcheckResult found = gradcheck(
      f, {normal({kRows, kSteps, kQuery}, 1), normal({kRows, kKeys, kKey}, 2), normal({kRows, kKeys, 3}, 3)},
      attention.parameters());
  INFO(found.report());
  CHECK(found.ok());
}

TEST_CASE("with w_c = 0, and at the first query, coverage changes nothing") {
  Attention covering(additive(kQuery, kKey, kHidden, Coverage::yes)), plain(additive(kQuery, kKey, kHidden));
  plain.initialise(3, DType::f64);
  State state = plain.state();
  const Tensor q = normal({kRows, kSteps, kQuery}, 1), k = normal({kRows, kKeys, kKey}, 2);
  const Tensor wanted = plain(q, k, k).weights;
  state["coverage.weight"] = zeros({kHidden}, DType::f64);
  covering.load_state(state);
  CHECK(max(abs(look_along(covering, q, covering.prepare(k, k)).weights - wanted)).item() < 1e-15);
  state["coverage.weight"] = full({kHidden}, 2, DType::f64);
  covering.load_state(state);
  const Tensor apart = abs(look_along(covering, q, covering.prepare(k, k)).weights - wanted);
  CHECK(max(slice(apart, 1, 0, 1)).item() < 1e-15);
  CHECK(max(slice(apart, 1, 1, 2)).item() > 1e-3);
  CHECK(max(slice(apart, 1, 2, 3)).item() > 1e-3);
}

TEST_CASE("coverage keeps to one query at a time, and padding stays out of it") {
  Attention attention(additive(kQuery, kKey, kHidden, Coverage::yes));
  attention.initialise(4, DType::f64);
  const Tensor q = normal({kRows, kSteps, kQuery}, 1), k = normal({kRows, kKeys, kKey}, 2);
  CHECK_THROWS_WITH(attention(q, k, k),
                    Catch::Matchers::ContainsSubstring("queries must come one at a time, got (2,3,3)") &&
                        Catch::Matchers::ContainsSubstring("pass (…, 1, 3)"));
  const ValidLengths lengths{2, 3};
  const auto run = [&](double poison) {
    const Tensor x =
        variable(where(lengths.mask(kKeys).reshape({kRows, kKeys, 1}), k, scalar(poison, DType::f64)));
    for (const Tensor& leaf : attention.parameters()) leaf.clear_grad();
    Tape tape;
    const Tensor context = look_along(attention, q, attention.prepare(x, x, lengths)).context;
    tape.backward(sum(context * normal({kRows, kSteps, kKey}, 3)));
    std::vector<Tensor> results{context.detach(), x.grad()};
    for (const Tensor& leaf : attention.parameters()) results.push_back(leaf.grad());
    return results;
  };
  const auto clean = run(0.5), poisoned = run(std::nan(""));
  for (std::size_t i = 0; i < clean.size(); ++i) CHECK(equal_bits(clean[i], poisoned[i]));
}
