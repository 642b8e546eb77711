// 21.4 few_weights: Continue a repeated sequence with few weights
// design, 30 minutes, limit 60 s, fast
//
// Build a model that continues a round that it has never seen before. A sequence has 32 places. It consists of
// a round, which is 4 to 10 of 16 symbols in random order, and of further copies of this round.
//
//     ids (B, T) → logits (B, T, 16): the logits at a place predict the next symbol and do not depend on later symbols
//
// The model is trained on 600 batches of 32 sequences, with Adam and your learning rate. Training and test
// count only the symbols after the first symbol of the second round. Of these, the trained model must predict
// 95 of 100 correctly, with at most 4,000 weights. Fewer weights are better, and your model with the fewest
// weights is saved.
//
// You may change all the code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/attention/multi_head.hpp"
#include "nn/embedding.hpp"
#include "nn/positions/positions.hpp"

constexpr Size kSymbols = 16;

//[ the model and its learning rate
//: constexpr Size kLayers = 1, kHeads = 4, kWidth = 24;
//: constexpr double kLearningRate = 0.01;
//:
//: struct Copier : Module {
//:   Tensor operator()(const Indices& ids) const {
//:     const Size time = ids.shape()[1];
//:     Tensor x = words(ids);
//:     const Tensor places = sinusoids(0, time, kWidth, x.dtype());
//:     for (const MultiHeadAttention& heads : layers)
//:       x = x + heads(x + places, x + places, x, Mask::causal(time, time)).context;
//:     return output(x);
//:   }
//:
//:   Embedding words{{*this, "words"}, kSymbols, kWidth};
//:   List<MultiHeadAttention> layers{
//:       {*this, "layers"}, kLayers, MultiHeadOptions{.width = kWidth, .heads = kHeads, .bias = Bias::no}};
//:   Linear output{{*this, "output"}, kWidth, kSymbols, Bias::no};
//: };
constexpr Size kLayers = 2, kHeads = 1, kWidth = 16;  // one head of each kind, in two layers
constexpr double kLearningRate = 0.01;

struct Copier : Module {
  Tensor operator()(const Indices& ids) const {
    const Size time = ids.shape()[1];
    Tensor x = words(ids);
    const Tensor places = sinusoids(0, time, kWidth, x.dtype());
    for (const MultiHeadAttention& heads : layers)
      x = x + heads(x + places, x + places, x, Mask::causal(time, time)).context;
    return output(x);
  }

  Embedding words{{*this, "words"}, kSymbols, kWidth};
  List<MultiHeadAttention> layers{
      {*this, "layers"}, kLayers, MultiHeadOptions{.width = kWidth, .heads = kHeads, .bias = Bias::no}};
  Linear output{{*this, "output"}, kWidth, kSymbols, Bias::no};
};
//]

// hint: What did lesson 21 show about a model with one layer? Can its heads use each other's notes?
// hint: Two heads are enough, if the second is in a higher layer. So which of kLayers, kHeads and kWidth must
//   grow, and which may shrink? A layer has 4 · kWidth² weights, whatever the number of heads.
// hint: Try kLayers = 2, kHeads = 1, kWidth = 16. For still fewer weights, ask whether a note of the previous
//   symbol needs attention at all: keys can be computed from x at t and x at t − 1.
//
// start: With one layer, the model learns which symbols are in the round, but not which one comes next. None of
//   its heads can use the notes of another head.
//
// wrong: More heads in the same layer do not help. The model needs a head in a second layer.
// - constexpr Size kLayers = 2, kHeads = 1, kWidth = 16;
// + constexpr Size kLayers = 1, kHeads = 8, kWidth = 24;
// wrong: Two layers are right, but 16 symbols and two functions do not need this width, and the model has too
//   many weights. The number of weights grows with the square of the width.
// - constexpr Size kLayers = 2, kHeads = 1, kWidth = 16;
// + constexpr Size kLayers = 2, kHeads = 4, kWidth = 64;
// wrong: Without position vectors, no head can distinguish the previous place from other earlier places.
// - x = x + heads(x + places, x + places, x, Mask::causal(time, time)).context;
// + x = x + heads(x, x, x, Mask::causal(time, time)).context + 0 * places;
// wrong: Without a causal mask, the model copies the next symbol from its input instead of learning to predict
//   it. Logits must not depend on later symbols.
// - x = x + heads(x + places, x + places, x, Mask::causal(time, time)).context;
// + x = x + heads(x + places, x + places, x).context;
// wrong: With a learning rate of 0.0005 this small model has not finished learning after 600 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0005;
// wrong: With a learning rate of 0.5 the steps are far too large, so the model does not learn the task.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include <numeric>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kTime = 32, kRows = 32, kSteps = 600, kTests = 200;

struct Rounds {
  Indices ids, next;  // (B, 31): −1 where the next symbol is random
};

Rounds draw(kit::Random& random, Size rows) {
  Ids ids, next;
  for (Size row = 0; row < rows; ++row) {
    Ids symbols(kSymbols);
    std::iota(symbols.begin(), symbols.end(), 0);
    random.shuffle(symbols);
    const Size period = random.between(4, 10);
    for (Size t = 0; t + 1 < kTime; ++t) {
      ids.push_back(symbols[static_cast<std::size_t>(t % period)]);
      next.push_back(t < period ? -1 : symbols[static_cast<std::size_t>((t + 1) % period)]);
    }
  }
  return {Indices(ids, {rows, kTime - 1}), Indices(next, {rows, kTime - 1})};
}

void train(Copier& model, kit::Random& random) {
  grader::train(model.parameters(), kLearningRate, kSteps, [&] {
    const Rounds rounds = draw(random, kRows);
    return cross_entropy(model(rounds.ids), rounds.next);
  });
}

/// Returns the percentage of right predictions in the repeat.
double right_answers(const Tensor& logits, const Indices& next) {
  const Ids said = argmax(logits).to_vector(), wanted = next.to_vector();
  double right = 0, asked = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] >= 0) right += said[i] == wanted[i], asked += 1;
  return 100 * right / asked;
}

}  // namespace

void judge(Judge& judge) {
  Copier model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("has at most 4,000 weights", [&] { judge.between(weights, 1, 4000, "the number of weights"); });
  judge.claim("computes logits that do not depend on later symbols", [&] {
    const Rounds rounds = draw(judge.random(), 3);
    const Tensor logits = model(rounds.ids);
    judge.same(logits.shape(), {3, kTime - 1, kSymbols}, "the logits");
    Ids changed = rounds.ids.to_vector();
    for (std::size_t i = 0; i < changed.size(); ++i)
      if (i % (kTime - 1) >= 20) changed[i] = (changed[i] + 1) % kSymbols;
    const Tensor others = model(Indices(changed, rounds.ids.shape()));
    judge.example("two sequences with different symbols from the 21st on");
    judge.same(slice(others, 1, 0, 20), slice(logits, 1, 0, 20), "the logits of the first 20 places", 1e-5);
  });
  judge.claim("predicts at least 95 % of the symbols in the repeat", [&] {
    train(model, judge.random());
    model.eval();
    const Rounds rounds = draw(judge.random(), kTests);
    const Tensor logits = model(rounds.ids);
    const double right = right_answers(logits, rounds.next), loss = cross_entropy(logits, rounds.next).item();
    judge.that(
        right >= 95,
        fmt::format(
            "with {} weights, {:.1f} % of the symbols are right, but at least 95 % are required; the loss "
            "on the repeat is {:.3f}",
            weights, right, loss),
        {right, loss});
    fmt::print("With {} weights, {:.1f} % of the symbols are right; the loss on the repeat is {:.3f}.\n",
               weights, right, loss);
    judge.score(weights, "weights");
  });
}
