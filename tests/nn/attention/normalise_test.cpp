// Normalisers: against plain loops, gradients, masks; and in the pipeline.
#include "nn/attention/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/check/gradcheck.hpp"
#include "nn/attention/attention.hpp"
#include "nn/attention/masking.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/attention/partial_mask.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/on_paper.hpp"

using namespace tapestry;
using testing::equal_bits;
using testing::partial_mask;
using testing::Row;
using testing::softmax_of;

namespace {

struct NormaliserRow {
  std::string name;
  Normaliser normalise;
  /// Weights of a row of allowed scores, on paper.
  std::function<Row(const Row&)> reference;
  bool has_gradient = true;
};

Row hardmax_of(const Row& scores) {
  Row weights(scores.size(), 0.0);
  std::size_t best = 0;
  for (std::size_t j = 1; j < scores.size(); ++j)
    if (scores[j] > scores[best]) best = j;
  if (!scores.empty()) weights[best] = 1;
  return weights;
}

Row sigmoid_of(const Row& scores) {
  Row weights;
  for (const double s : scores) weights.push_back(1 / (1 + std::exp(-s)));
  return weights;
}

Row sink_of(const Row& scores) {
  double total = 1;
  for (const double s : scores) total += std::exp(s);
  Row weights;
  for (const double s : scores) weights.push_back(std::exp(s) / total);
  return weights;
}

Row capped_of(Row scores) {
  for (double& s : scores) s = 2 * std::tanh(s / 2);
  return softmax_of(scores, 1);
}

/// max(shrink · s − τ, 0)^power, with τ found by halving.
Row sparse_of(const Row& scores, double shrink, double power) {
  double low = -1e3, high = 1e3;
  const auto weight = [&](double s, double limit) {
    return std::pow(std::max(shrink * s - limit, 0.0), power);
  };
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    double total = 0;
    for (const double s : scores) total += weight(s, middle);
    (total > 1 ? low : high) = middle;
  }
  Row weights;
  for (const double s : scores) weights.push_back(weight(s, low));
  return weights;
}

const std::vector<NormaliserRow>& normalisers() {
  static const std::vector<NormaliserRow> rows{
      {"softmax", softmax_weights, [](const Row& s) { return softmax_of(s, 1); }},
      {"temperature 0.3", softmax_with_temperature(0.3), [](const Row& s) { return softmax_of(s, 0.3); }},
      {"temperature 4", softmax_with_temperature(4), [](const Row& s) { return softmax_of(s, 4); }},
      {"hardmax", hardmax_weights, hardmax_of, false},
      {"sigmoid", sigmoid_weights, sigmoid_of},
      {"sink", sink_weights, sink_of},
      {"soft-capped", soft_capped(2), capped_of},
      {"sparsemax", sparsemax_weights, [](const Row& s) { return sparse_of(s, 1, 1); }},
      {"entmax-1.5", entmax15_weights, [](const Row& s) { return sparse_of(s, 0.5, 2); }},
      {"none", plain_weights, [](const Row& s) { return s; }},
  };
  return rows;
}

/// (2, 3, 5), with ties; the fifth key's score is large.
Tensor scores() {
  Tensor x = random_normal({2, 3, 5}, 1, DType::f64);
  const Mask ties = Mask::from(3, 5, [](Size i, Size j) { return i == 2 && (j == 1 || j == 3); });
  x = where(ties, scalar(2.5, DType::f64), x);
  return where(Mask::from(1, 5, [](Size, Size j) { return j == 4; }), x + 3.0, x);
}

}  // namespace

TEST_CASE("each normaliser equals its formula over the pairs that may attend") {
  for (const NormaliserRow& row : normalisers())
    for (const Mask& may : {Mask(), partial_mask(), Mask::from(1, 5, [](Size, Size j) { return j > 0; })}) {
      INFO(row.name << ", mask " << (may.defined() ? to_string(may.shape()) : "none"));
      const Tensor s = scores(), found = row.normalise(s, may);
      REQUIRE(to_string(found.shape()) == "(2,3,5)");
      const std::vector<bool> allowed =
          may.defined() ? may.expand(s.shape()).to_vector() : std::vector<bool>(30, true);
      for (Size b = 0; b < 2; ++b)
        for (Size i = 0; i < 3; ++i) {
          const auto at = [&](Size j) { return static_cast<std::size_t>((b * 3 + i) * 5 + j); };
          Row seen;
          for (Size j = 0; j < 5; ++j)
            if (allowed[at(j)]) seen.push_back(s.at({b, i, j}));
          const Row wanted = row.reference(seen);
          std::size_t next = 0;
          for (Size j = 0; j < 5; ++j) {
            CAPTURE(b, i, j);
            if (allowed[at(j)])
              CHECK(std::abs(found.at({b, i, j}) - wanted[next++]) < 1e-14);
            else
              CHECK(found.at({b, i, j}) == 0);
          }
        }
    }
}

TEST_CASE("gradients of normalisers, under a mask with an empty row") {
  for (const NormaliserRow& row : normalisers()) {
    INFO(row.name);
    if (row.has_gradient) {
      const GradcheckResult found =
          gradcheck([&](const Tensor& s) { return row.normalise(s, partial_mask()); }, scores());
      INFO(found.report());
      CHECK(found.ok());
    } else {
      const Tensor s = variable(scores()), v = variable(random_normal({2, 5, 4}, 2, DType::f64));
      Tape tape;
      tape.backward(
          sum(matmul(row.normalise(s, partial_mask()), v) * random_normal({2, 3, 4}, 3, DType::f64)));
      CHECK_FALSE(s.has_grad());
      CHECK(sum(abs(v.grad())).item() > 0);
    }
  }
}

TEST_CASE("scores outside the mask touch neither weights nor gradients, whatever they are") {
  for (const NormaliserRow& row : normalisers())
    for (const double poison : {std::nan(""), std::numeric_limits<double>::infinity(), -1e300}) {
      INFO(row.name << ", poison " << poison);
      const auto run = [&](double there) {
        const Tensor s = variable(where(partial_mask(), scores(), scalar(there, DType::f64)));
        Tape tape;
        const Tensor weights = row.normalise(s, partial_mask());
        std::vector<Tensor> results{weights.detach()};
        if (row.has_gradient) {
          tape.backward(sum(weights * random_normal({2, 3, 5}, 3, DType::f64)));
          results.push_back(s.grad());
        }
        return results;
      };
      const auto clean = run(0), poisoned = run(poison);
      for (std::size_t i = 0; i < clean.size(); ++i) CHECK(equal_bits(clean[i], poisoned[i]));
    }
}

TEST_CASE("temperature goes from hardmax to equal weights") {
  const Tensor s = random_normal({3, 4}, 1, DType::f64);
  CHECK(max(abs(softmax_with_temperature(1e-3)(s, {}) - hardmax_weights(s))).item() < 1e-9);
  CHECK(max(abs(softmax_with_temperature(1e9)(s, {}) - 0.25)).item() < 1e-8);
  CHECK_THROWS_AS(softmax_with_temperature(0), Error);
  CHECK_THROWS_AS(softmax_with_temperature(std::nan("")), Error);
}

TEST_CASE("hardmax takes the first of equal scores that it may") {
  const Tensor s = tensor({{1, 7, 7, 7}, {7, 7, 1, 1}});
  CHECK(hardmax_weights(s).to_vector() == std::vector<double>{0, 1, 0, 0, 1, 0, 0, 0});
  const Mask not_first = Mask::from(1, 4, [](Size, Size j) { return j > 1; });
  CHECK(hardmax_weights(s, not_first).to_vector() == std::vector<double>{0, 0, 1, 0, 0, 0, 1, 0});
  // All below 0: what stands outside the mask must not win, as a 0 would.
  CHECK(hardmax_weights(s - 9.0, not_first).to_vector() == std::vector<double>{0, 0, 1, 0, 0, 0, 1, 0});
}

TEST_CASE("every normaliser serves in the pipeline, and refuses a mask that does not fit") {
  const Tensor x = random_normal({2, 4, 3}, 1, DType::f64);
  const Mask causal = Mask::causal(4, 4);
  for (const NormaliserRow& row : normalisers()) {
    INFO(row.name);
    const Attention attention(dot(), {.normalise = row.normalise});
    const AttentionOutput found = attention(x, x, x, causal);
    const Tensor wanted = row.normalise(matmul(x, transpose(x)), causal);
    CHECK(equal_bits(found.weights, wanted));
    CHECK(equal_bits(found.context, matmul(wanted, x)));
    CHECK_THROWS_AS(row.normalise(x, causal), Error);
    CHECK_THROWS_AS(
        row.normalise(select(x, 0, 0), Mask::from(2, 1, [](Size, Size) { return true; }).reshape({2, 1, 1})),
        Error);
  }
}

TEST_CASE("weights of another shape than the scores are refused, with both shapes") {
  const Attention attention{dot(), {.normalise = [](const Tensor& scores, const Mask&) {
                              return slice(softmax(scores, -1), -1, 0, scores.size(-1) - 1);
                            }}};
  const Tensor query = ones({2, 3, 4}), key = ones({2, 5, 4});
  CHECK_THROWS_WITH(
      attention(query, key, key),
      Catch::Matchers::ContainsSubstring(
          "[normalise] a normaliser must keep the shape, got weights (2,3,4) from scores (2,3,5)"));
}

TEST_CASE("a normaliser that gives a masked pair a weight is refused, with the first such pair") {
  const Mask causal = Mask::causal(3, 3);
  const Tensor x = random_normal({2, 3, 4}, 1, DType::f64);
  const auto message = [&](const Normaliser& normalise, const Mask& mask, bool with_sink = false) {
    Attention attention(dot(), {.normalise = normalise, .learned_sink = with_sink});
    attention.initialise(1, DType::f64);
    return test::message_of<Error>([&] { attention(x, x, x, mask); });
  };
  const Normaliser leaks = [](const Tensor& scores, const Mask&) { return sigmoid(scores * 0.0); };
  CHECK(
      message(leaks, causal) ==
      "[normalise] a normaliser must give a masked pair the weight 0, got 0.5 for query 0 and key 1 of weights "
      "(2,3,3); pass the weights through zero_masked(mask, weights)");
  CHECK(message(leaks, {}) == "(nothing thrown)");
  CHECK(message(leaks, causal, true).find("for query 0 and key 1 of weights (2,3,4)") != std::string::npos);
  // One pair of one batch row is enough, whatever its weight.
  for (const double there : {1e-300, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CAPTURE(there);
    const Normaliser once = [&](const Tensor& scores, const Mask& mask) {
      const Mask pair =
          Mask::from(6, 3, [](Size row, Size j) { return row == 4 && j == 2; }).reshape({2, 3, 3});
      return where(pair, scalar(there, DType::f64), softmax_weights(scores, mask));
    };
    CHECK(message(once, causal).find("for query 1 and key 2 of weights (2,3,3)") != std::string::npos);
  }
  // Right weights pass: transposed ones too, of −0, and without queries or keys.
  const auto mine = [](const Tensor& scores, const Mask& mask) {
    return transpose(contiguous(transpose(zero_masked(mask, sigmoid(scores)) * -1.0)));
  };
  CHECK(message(mine, causal) == "(nothing thrown)");
  CHECK_NOTHROW(Normaliser(mine)(zeros({2, 0, 3}), Mask::causal(0, 3)));
  CHECK_NOTHROW(Normaliser(mine)(zeros({2, 3, 0}), Mask::causal(3, 0)));
}

TEST_CASE("a score of NaN or +∞ gives sparse weights and gradients of NaN in its row, none elsewhere") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Mask mask = Mask::from(3, 3, [](Size i, Size j) { return i != 1 || j != 1; });
  for (const bool sparse : {true, false})
    for (const double odd : {nan, inf}) {
      Tape tape;
      const Tensor s = variable(tensor({{1, odd, 0.5}, {2, odd, 1}, {0.1, 0.2, 0.3}}, DType::f64));
      const Tensor y = sparse ? sparsemax_weights(s, mask) : entmax15_weights(s, mask);
      const Tensor gradient = tape.gradients(sum(y * random_normal({3, 3}, 1, DType::f64)), {s})[0];
      CAPTURE(sparse, odd);
      for (Size j = 0; j < 3; ++j) {
        CHECK(std::isnan(y.at({0, j})));
        CHECK(std::isnan(gradient.at({0, j})));
        CHECK(std::isfinite(gradient.at({1, j})));  // there the mask hides it
        CHECK(std::isfinite(gradient.at({2, j})));
      }
      CHECK(gradient.at({1, 1}) == 0);
    }
}

TEST_CASE("hardmax of no keys has no weights") {
  CHECK(hardmax_weights(ones({2, 3, 0})).shape() == Dims{2, 3, 0});
  CHECK(hardmax_weights(ones({0, 3})).shape() == Dims{0, 3});
}
