// The README's program with a score of one's own in a language model: it runs, and its loss falls.
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
  const Indices texts = argmax(random_normal({8, 21, 11}, 1));  // any: to be learned by heart
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
