// 16.4 count_alike: mark what occurs twice, with few weights
// design, 30 minutes, limit 60 s, fast
//
// Build a model that marks the tokens whose kind occurs exactly twice in their row: 16 tokens of 12 kinds,
// drawn at random. It is trained on 700 batches of 32 rows by Adam with your learning rate, and must then be
// right on 97 of 100 tokens, with at most 1,000 weights. Fewer weights are better: your best model is kept.
//
//     tokens (B, n)  →  logits (B, n, 2) of "no" and "yes"
//
// What the kinds are has to be learned as well: while all weights are one number, what kind a token is may make no
// difference, and a fixed table such as eye(12) does not count. The one that is given reads [a; b] as in the lesson,
// where b is a self-attention without projections. Change whatever you like in the hole.
#include "lessons/grader/answer.hpp"
#include "nn/embedding.hpp"

constexpr Size kKinds = 12;

//[ the model, and how fast it learns
//: struct Marker : Module {
//:   Tensor operator()(const Indices& tokens) const {
//:     const Tensor a = kinds(tokens);  // (B, n, 8)
//:     const Tensor scores = matmul(a, transpose(a)) / std::sqrt(8.0);
//:     const Tensor b = matmul(softmax(scores, -1), a);
//:     return answer(relu(compare(concat({a, b}, -1))));
//:   }
//:
//:   Embedding kinds{{*this, "kinds"}, kKinds, 8};
//:   Linear compare{{*this, "compare"}, 16, 12}, answer{{*this, "answer"}, 12, 2};
//: };
//: constexpr double kLearningRate = 0.02;
struct Marker : Module {
  Tensor operator()(const Indices& tokens) const {
    const Tensor a = kinds(tokens);                   // (B, n, 14)
    const Tensor scores = matmul(a, transpose(a));    // large where two tokens are of one kind
    const Tensor b = matmul(sigmoid(scores - 3), a);  // each pair by itself, so b is a sum that counts
    return answer(relu(compare(concat({a, b}, -1))));
  }

  Embedding kinds{{*this, "kinds"}, kKinds, 14};
  Linear compare{{*this, "compare"}, 28, 20}, answer{{*this, "answer"}, 20, 2};
};
constexpr double kLearningRate = 0.02;
//]

// hint: The lesson's softmax counts: my kind gets c e^β / (c e^β + 16 − c) of my weight. How much does that change
//   from c = 2 to c = 3? With few weights that is hard to read. Need weights add up to 1 at all?
// hint: b = Σ_j w_ij a_j need not be an average. With a weight for each pair that is near 1 for one kind and
//   near 0 for two, whatever the other pairs do, b would be about __ times a. Which function makes such a
//   weight of a score?
// hint: Put sigmoid(scores − ____) for softmax(scores, -1), with scores that are not divided, so that it is
//   clearly open or shut. Make the widths larger until it is safe, and then smaller again.
//
// start: A softmax's weights add up to 1. With four tokens of a kind or two, b is nearly the same, and a
//   small network can hardly tell them apart. Let the weights of a row add up to more where more are alike.
//
// wrong: A GRU has to carry the counts of all kinds from token to token, and hardly learns it in so few
//   steps.
// - const Tensor scores = matmul(a, transpose(a));    // large where two tokens are of one kind
// - const Tensor b = matmul(sigmoid(scores - 3), a);  // each pair by itself, so b is a sum that counts
// - return answer(relu(compare(concat({a, b}, -1))));
// - }
// + return answer(relu(compare(concat({a, states(a).states}, -1))));
// + }
// + GRU states{{*this, "states"}, 14, 7, {.both_directions = true}};
// wrong: Each token sees those before it alone, so the first of two is told nothing of the second. Both are
//   to be marked.
// - const Tensor b = matmul(sigmoid(scores - 3), a);
// + const Size n = a.size(1);
// + const Tensor seen = where(Mask::causal(n, n), sigmoid(scores - 3), zeros({n, n}));
// + const Tensor b = matmul(seen, a);
// wrong: The widths of lesson 16 are more than twelve kinds need, and break the budget.
// - Embedding kinds{{*this, "kinds"}, kKinds, 14};
// - Linear compare{{*this, "compare"}, 28, 20}, answer{{*this, "answer"}, 20, 2};
// + Embedding kinds{{*this, "kinds"}, kKinds, 64};
// + Linear compare{{*this, "compare"}, 128, 128}, answer{{*this, "answer"}, 128, 2};
// wrong: The logits are of a alone: what was read of the others is in b, and never arrives.
// - return answer(relu(compare(concat({a, b}, -1))));
// + return answer(relu(compare(concat({a, a}, -1))));
// wrong: A fixed table tells the kinds apart before anything is learned: then the model only has to compare counts.
// - const Tensor a = kinds(tokens);                   // (B, n, 14)
// + const Tensor a = one_hot(tokens, 14);
// wrong: With a rate of 0.0001 this small model has hardly begun to learn after 700 steps.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.0001;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kTokens = 16, kRows = 32, kSteps = 700, kTests = 400;

struct Marked {
  Indices tokens, answers;  // (B, n)
};

Marked draw(kit::Random& random, Size rows, Size tokens) {
  Ids ids, answers;
  for (Size row = 0; row < rows; ++row) {
    Ids here;
    for (Size t = 0; t < tokens; ++t) here.push_back(random.below(kKinds));
    for (const std::int64_t one : here) answers.push_back(std::count(here.begin(), here.end(), one) == 2);
    ids.insert(ids.end(), here.begin(), here.end());
  }
  return {Indices(ids, {rows, tokens}), Indices(answers, {rows, tokens})};
}

void train(Marker& model, kit::Random& random) {
  grader::train(model.parameters(), kLearningRate, kSteps, [&] {
    const Marked batch = draw(random, kRows, kTokens);
    return cross_entropy(model(batch.tokens), batch.answers);
  });
}

}  // namespace

void judge(Judge& judge) {
  Marker model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("keeps to the budget", [&] { judge.between(weights, 1, 1000, "the weights"); });
  judge.claim("gives logits for each token", [&] {
    const Marked some = draw(judge.random(), 3, 5);
    judge.same(model(some.tokens).shape(), {3, 5, 2}, "the logits");
  });
  judge.claim("has to learn what the kinds are", [&] {
    judge.example("all weights 0.5");
    Marker equal;
    equal.initialise(1);
    equal.eval();
    for (Tensor& weight : equal.parameters()) assign(weight, full(weight.shape(), 0.5, weight.dtype()));
    const Tensor change =
        equal(draw(judge.random(), 2, kTokens).tokens) - equal(draw(judge.random(), 2, kTokens).tokens);
    judge.that(max(abs(change)).item() < 1e-5,
               "other tokens get other logits, though no weight tells them apart");
  });
  judge.claim("marks what occurs exactly twice", [&] {
    train(model, judge.random());
    model.eval();
    const Marked test = draw(judge.random(), kTests, kTokens);
    const Tensor logits = model(test.tokens);
    const Ids said = argmax(logits).to_vector(), wanted = test.answers.to_vector();
    double right = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) right += said[i] == wanted[i];
    right *= 100 / static_cast<double>(wanted.size());
    const double loss = cross_entropy(logits, test.answers).item();
    const double no = 100.0 * static_cast<double>(std::count(wanted.begin(), wanted.end(), 0)) /
                      static_cast<double>(wanted.size());
    judge.that(right >= 97,
               fmt::format("{} weights mark {:.1f} % of the tokens rightly, of which 97 % are wanted (always "
                           "\"no\": {:.1f} %); the loss of a token is {:.3f}{}",
                           weights, right, no, loss,
                           right < no + 2
                               ? ". It has learned nothing yet: is the rate too large or too small, "
                                 "and does what was read reach the logits?"
                               : ". Does b tell two of a kind from one and from three? A pair of two kinds "
                                 "should weigh nearly nothing, or the many others drown the few."),
               {right, loss});
    fmt::print("{} weights mark {:.1f} % of the tokens rightly; the loss is {:.3f}.\n", weights, right, loss);
    judge.score(weights, "weights");
  });
}
