// Programs of the pages that have a score, a normaliser, a mask or an attention of their own in a model.
#include "tests/catch.hpp"

#define main own_attention  // called below

// README
#include <cstdio>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/transformer.hpp"
#include "optim/adam.hpp"

using namespace tapestry;

int main() {
  TransformerOptions options{.vocabulary = 11, .layers = 2, .block = {.width = 32, .heads = 4}};
  const auto nearer = [](const auto& p, Size queries, Size keys) {
    const auto first = static_cast<double>(keys - queries);  // where query 0 stands
    const auto less = [first](auto s, auto at, auto rate) {
      return s - rate(at.h) * log(1 + abs(at.i + first - at.j));
    };
    return score_mod(less, learned(p[0]));
  };
  options.block.score_mod = {{{"rate", {4}, constant(1)}}, nearer};
  options.positions = rotary();  // any, or no_positions()
  LanguageModel model(options);
  model.initialise(1);
  Adam adam(model.parameters(), {.learning_rate = 1e-2});
  const Indices texts = argmax(random_normal({8, 21, 11}, 1));  // random texts, to memorise
  double last = 0;
  for (int step = 1; step <= 60; ++step) {
    Tape tape;
    const Tensor loss = cross_entropy(model(texts.columns(0, 20)), texts.columns(1, 21));
    tape.backward(loss);
    adam.step();
    last = loss.item();
    if (step % 20 == 0) std::printf("step %d: loss %.3f\n", step, last);
  }
  return last < 1 ? 0 : 1;
}
// end
#undef main

TEST_CASE("the README's language model with a score of one's own learns") { CHECK(own_attention() == 0); }

#define main own_normaliser  // called below

// README
#include <cmath>
#include <cstdio>

#include "core/core.hpp"
#include "nn/check/check_attention.hpp"

using namespace tapestry;

// α_ij = sigmoid(s_ij − log n) (Ramapuram et al. 2024). Here n is a fixed number: with a cache, scores.size(-1) grows.
Normaliser sigmoid_with_bias(Size n) {
  const double bias = -std::log(static_cast<double>(n));
  return [bias](const Tensor& scores, const Mask& mask) { return sigmoid_weights(scores + bias, mask); };
}

// A query may attend to the keys at distance 0, 1, 2, 4, 8, … before it. With a cache, query i is at position i + first.
Mask powers_of_two(Size queries, Size keys) {
  return Mask::from(queries, keys, [first = keys - queries](Size i, Size j) {
    const Size distance = i + first - j;
    return distance >= 0 && (distance & (distance - 1)) == 0;
  });
}

int main() {
  // With this mask, a query sees up to 8 keys.
  const BlockOptions options{.width = 8, .heads = 2, .normalise = sigmoid_with_bias(8)};
  const AttentionCheckResult result = check_attention(options, {.causal = true}, {.mask = powers_of_two});
  std::printf("%s", result.report().c_str());
  return result.ok() ? 0 : 1;
}
// end
#undef main

TEST_CASE("the page's normaliser and mask pass all checks of an attention") {
  CHECK(own_normaliser() == 0);
  CHECK(powers_of_two(9, 9).to_vector()[8 * 9 + 4]);
  CHECK_FALSE(powers_of_two(9, 9).to_vector()[8 * 9 + 5]);
  CHECK_FALSE(powers_of_two(9, 9).to_vector()[4 * 9 + 8]);
}

// README
struct Differential : SelfAttention {
  Differential(Parent parent, Size width)
      : SelfAttention(std::move(parent)),
        q1{{*this, "q1"}, width, width, Bias::no},
        k1{{*this, "k1"}, width, width, Bias::no},
        q2{{*this, "q2"}, width, width, Bias::no},
        k2{{*this, "k2"}, width, width, Bias::no},
        v{{*this, "v"}, width, width, Bias::no},
        lambda{*this, "lambda", {}, constant(0.5)} {}

  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    const AttendOptions options{.mask = pairs.for_attend()};
    return attend(q1(x), k1(x), v(x), options) - lambda * attend(q2(x), k2(x), v(x), options);
  }

  Linear q1, k1, q2, k2, v;
  Parameter lambda;
};
// end

TEST_CASE("the page's attention replaces every layer of a language model, with its cache") {
  TransformerOptions options{.vocabulary = 11, .layers = 2, .block = {.width = 16, .heads = 4}};
  options.block.attention = self_attention<Differential>(16);
  LanguageModel model(options);
  model.initialise(1, DType::f64);
  const Indices text = argmax(random_normal({2, 9, 11}, 1));
  {
    Tape tape;
    const Tensor all = model(text);
    tape.backward(sum(all * random_normal(all.shape(), 2, DType::f64)));
    for (const auto& parameter : model.parameters()) CHECK(max(abs(parameter.grad())).item() > 0);
  }
  StackCache cache = model.cache(4);
  const Tensor first = model(text.columns(0, 5), cache), rest = model(text.columns(5, 9), cache);
  CHECK(max(abs(concat({first, rest}, 1) - model(text))).item() < 1e-12);
}
