// The slot score_mod of layers: beside positions, after them, with parameters of each layer's own.
#include <cmath>

#include "core/attention/score_lambda.hpp"
#include "core/check/gradcheck.hpp"
#include "core/core.hpp"
#include "nn/positions/positions.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr Size kHeads = 2, kTime = 7, kWidth = 4;

/// s → gain_h · tanh(s) − |i − j| / 10: what stands before it can't be moved behind it.
LearnedScoreMod squashed() {
  return {{{"gain", {kHeads}, constant(1.5)}}, [](const std::vector<Tensor>& p, Size queries, Size keys) {
            const auto ahead = static_cast<double>(keys - queries);
            return score_mod(
                [ahead](auto s, auto at, auto gain) {
                  return gain(at.h) * tanh(s) - 0.1 * abs(at.i + ahead - at.j);
                },
                learned(p[0]));
          }};
}

enum class Order { none, rotary, alibi };

PositionScheme scheme_of(Order order) {
  return order == Order::none ? no_positions() : order == Order::rotary ? rotary() : alibi();
}

/// x (1, heads, time, width) at a place, turned as Su et al. 2021 have it, half against half.
std::vector<double> row_of(const Tensor& x, Size h, Size place, bool turned) {
  std::vector<double> row;
  for (Size c = 0; c < kWidth; ++c) row.push_back(x.at({0, h, place, c}));
  if (!turned) return row;
  std::vector<double> result = row;
  for (std::size_t c = 0; c < 2; ++c) {
    const double angle = static_cast<double>(place) * std::pow(10000.0, -static_cast<double>(c) / 2);
    result[c] = row[c] * std::cos(angle) - row[c + 2] * std::sin(angle);
    result[c + 2] = row[c] * std::sin(angle) + row[c + 2] * std::cos(angle);
  }
  return result;
}

/// The contexts in plain loops: causal, scores by scaled products.
std::vector<double> by_hand(const Tensor& q, const Tensor& k, const Tensor& v, Order order,
                            const std::vector<double>& gain) {
  std::vector<double> contexts;
  for (Size h = 0; h < kHeads; ++h)
    for (Size i = 0; i < kTime; ++i) {
      std::vector<double> weights;
      double sum = 0;
      for (Size j = 0; j <= i; ++j) {
        const auto a = row_of(q, h, i, order == Order::rotary), b = row_of(k, h, j, order == Order::rotary);
        double s = 0;
        for (std::size_t c = 0; c < a.size(); ++c) s += a[c] * b[c] / 2;  // √4
        if (order == Order::alibi) s -= (h == 0 ? 0x1p-4 : 0x1p-8) * static_cast<double>(i - j);
        s = gain[static_cast<std::size_t>(h)] * std::tanh(s) - 0.1 * static_cast<double>(i - j);
        weights.push_back(std::exp(s));
        sum += weights.back();
      }
      for (Size c = 0; c < kWidth; ++c) {
        double context = 0;
        for (Size j = 0; j <= i; ++j)
          context += weights[static_cast<std::size_t>(j)] / sum * v.at({0, h, j, c});
        contexts.push_back(context);
      }
    }
  return contexts;
}

LanguageModel language_model(Order order) {
  TransformerOptions options{.vocabulary = 5, .layers = 2, .block = {.width = 8, .heads = kHeads}};
  options.block.score_mod = squashed();
  options.positions = scheme_of(order);
  return LanguageModel(options);
}

}  // namespace

TEST_CASE("a score_mod changes what positions have made of the scores, as plain loops have it") {
  for (const Order order : {Order::none, Order::rotary, Order::alibi}) {
    CAPTURE(static_cast<int>(order));
    Attention attention(scaled_dot(), {.score_mod = squashed(),
                                       .positions = scheme_of(order),
                                       .pair_shape = {.heads = kHeads, .head_width = kWidth}});
    attention.initialise(1, DType::f64);
    REQUIRE(attention.learned().size() == 1);
    Tensor gain = attention.learned()[0];
    assign(gain, tensor({1.5, -0.5}, DType::f64));
    const auto draw = [](std::uint64_t stream) {
      return random_normal({1, kHeads, kTime, kWidth}, stream, DType::f64);
    };
    const Tensor q = draw(1), k = draw(2), v = draw(3);
    const Tensor context = attention(q, k, v, Mask::causal(kTime, kTime)).context;
    const std::vector<double> found = context.to_vector(), wanted = by_hand(q, k, v, order, {1.5, -0.5});
    REQUIRE(found.size() == wanted.size());
    double apart = 0;
    for (std::size_t i = 0; i < found.size(); ++i) apart = std::max(apart, std::abs(found[i] - wanted[i]));
    CHECK(apart < 1e-13);
    const auto of = [&](const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& learned) {
      Attention copy(scaled_dot(), {.score_mod = {{},
                                                  [&](const auto&, Size queries, Size keys) {
                                                    return squashed().make({learned}, queries, keys);
                                                  }},
                                    .positions = scheme_of(order),
                                    .pair_shape = {.heads = kHeads, .head_width = kWidth}});
      return copy(query, key, value, Mask::causal(kTime, kTime)).context;
    };
    CHECK(gradcheck(of, {q, k, v, tensor({1.5, -0.5}, DType::f64)}).ok());
  }
}

TEST_CASE("each layer has its own parameters of a program, and clone() copies them") {
  for (const Order order : {Order::none, Order::rotary, Order::alibi}) {
    CAPTURE(static_cast<int>(order));
    LanguageModel model = language_model(order);
    model.initialise(1, DType::f64);
    Tensor first = model.stack.blocks[0].self->attention.learned().at(0),
           second = model.stack.blocks[1].self->attention.learned().at(0);
    assign(first, tensor({0.5, 0.7}, DType::f64));
    CHECK(second.to_vector() == std::vector<double>{1.5, 1.5});
    const Indices words(std::vector<std::int64_t>{0, 3, 1, 4, 2, 2}, {1, 6});
    const auto copy = clone(model);
    const Tensor logits = model(words);
    CHECK((*copy)(words).to_vector() == logits.to_vector());
    CHECK((*clone(*copy))(words).to_vector() == logits.to_vector());
    assign(second, tensor({-1, 2}, DType::f64));
    CHECK((*copy)(words).to_vector() == logits.to_vector());
    CHECK(model(words).to_vector() != logits.to_vector());
    std::vector<std::string> names;
    for (const Tensor& parameter : model.parameters())
      if (parameter.name().find("gain") != std::string::npos) names.push_back(parameter.name());
    CHECK(names == std::vector<std::string>{"stack.blocks.0.self.attention.score_mod.gain",
                                            "stack.blocks.1.self.attention.score_mod.gain"});
  }
}

TEST_CASE("cross-attention takes no score_mod: its queries and keys stand in different sequences") {
  BlockOptions options{.width = 8, .heads = kHeads};
  options.score_mod = squashed();
  const TransformerBlock block(options, {.causal = true, .memory_width = 6});
  CHECK(block.self->attention.learned().size() == 1);
  CHECK(block.cross->attention.learned().empty());
}

TEST_CASE("a program without a function is refused") {
  CHECK_THROWS_WITH(Attention(scaled_dot(), {.score_mod = {{{"gain", {2}, constant(1)}}, {}}}),
                    ContainsSubstring("[score_mod") && ContainsSubstring("must have make, got none"));
}
