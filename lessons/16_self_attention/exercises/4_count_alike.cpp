// 16.4 count_alike: Marking tokens that occur twice, with few weights
// design, 30 minutes, limit 60 s, fast
//
// Build a model that marks the tokens whose symbol occurs exactly twice in their row. A row has 16 tokens,
// drawn at random from a vocabulary of 12 symbols. The model is trained for 700 steps on batches of 32 rows, by
// Adam with your learning rate. After that, it must be right for at least 97 % of the tokens, with at most
// 1,000 weights. Fewer weights are better: the grader keeps your best model.
//
//     tokens (B, n)  →  logits (B, n, 2) of "no" and "yes"
//
// The model must also learn to distinguish the symbols. The grader checks this: if all weights are set to the
// same number, the symbol of a token must not change the logits. So a fixed table such as eye(12) is not
// allowed.
//
// The given model computes its answer from [a; b] as in the lesson, where b is the output of self-attention
// without projections. You may change all the code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/embedding.hpp"

constexpr Size kKinds = 12;  // size of the vocabulary

//[ the model and its learning rate
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
    const Tensor scores = matmul(a, transpose(a));    // large for two tokens with the same symbol
    const Tensor b = matmul(sigmoid(scores - 3), a);  // a weight for each pair, so the sum b counts
    return answer(relu(compare(concat({a, b}, -1))));
  }

  Embedding kinds{{*this, "kinds"}, kKinds, 14};
  Linear compare{{*this, "compare"}, 28, 20}, answer{{*this, "answer"}, 20, 2};
};
constexpr double kLearningRate = 0.02;
//]

// hint: The softmax of the lesson counts: the weight on a token's own symbol is c e^β / (c e^β + 16 − c). How
//   much does this weight change from c = 2 to c = 3? Such a small change is hard to use with few weights. Must
//   the weights add up to 1 at all?
// hint: b = Σ_j w_ij a_j does not have to be an average. Suppose that w_ij depends only on tokens i and j, and
//   is near 1 for the same symbol and near 0 for different symbols. Then b is about __ times a. Which function
//   computes such a weight from a score?
// hint: Use sigmoid(scores − ____) in place of softmax(scores, -1). Do not divide the scores by √d, so that
//   each weight is clearly near 0 or near 1. Make the widths larger until the accuracy is safe, and then
//   smaller again.
//
// start: The weights of a softmax add up to 1. So b is nearly the same for a symbol that occurs twice and for
//   one that occurs four times, and a small network can hardly distinguish the two cases. Let the weights in a
//   row add up to more if more tokens have the same symbol.
//
// wrong: A GRU must carry the counts of all symbols from token to token. In 700 steps, it hardly learns this.
// - const Tensor scores = matmul(a, transpose(a));    // large for two tokens with the same symbol
// - const Tensor b = matmul(sigmoid(scores - 3), a);  // a weight for each pair, so the sum b counts
// - return answer(relu(compare(concat({a, b}, -1))));
// - }
// + return answer(relu(compare(concat({a, states(a).states}, -1))));
// + }
// + GRU states{{*this, "states"}, 14, 7, {.both_directions = true}};
// wrong: Each token attends only to the tokens before it. So the first of two equal tokens knows nothing about
//   the second. Both must be marked.
// - const Tensor b = matmul(sigmoid(scores - 3), a);
// + const Size n = a.size(1);
// + const Tensor seen = where(Mask::causal(n, n), sigmoid(scores - 3), zeros({n, n}));
// + const Tensor b = matmul(seen, a);
// wrong: The widths from lesson 16 are larger than twelve symbols need, and they exceed the budget.
// - Embedding kinds{{*this, "kinds"}, kKinds, 14};
// - Linear compare{{*this, "compare"}, 28, 20}, answer{{*this, "answer"}, 20, 2};
// + Embedding kinds{{*this, "kinds"}, kKinds, 64};
// + Linear compare{{*this, "compare"}, 128, 128}, answer{{*this, "answer"}, 128, 2};
// wrong: The logits depend on a alone. The information about the other tokens is in b, which is not used.
// - return answer(relu(compare(concat({a, b}, -1))));
// + return answer(relu(compare(concat({a, a}, -1))));
// wrong: A fixed table distinguishes the symbols before anything is learned. Then the model only has to compare
//   counts.
// - const Tensor a = kinds(tokens);                   // (B, n, 14)
// + const Tensor a = one_hot(tokens, 14);
// wrong: With a learning rate of 0.0001, this small model has hardly begun to learn after 700 steps.
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
  judge.claim("stays within the budget", [&] { judge.between(weights, 1, 1000, "the number of weights"); });
  judge.claim("returns logits for each token", [&] {
    const Marked some = draw(judge.random(), 3, 5);
    judge.same(model(some.tokens).shape(), {3, 5, 2}, "the logits");
  });
  judge.claim("learns to distinguish the symbols", [&] {
    judge.example("all weights are 0.5");
    Marker equal;
    equal.initialise(1);
    equal.eval();
    for (Tensor& weight : equal.parameters()) assign(weight, full(weight.shape(), 0.5, weight.dtype()));
    const Tensor change =
        equal(draw(judge.random(), 2, kTokens).tokens) - equal(draw(judge.random(), 2, kTokens).tokens);
    judge.that(max(abs(change)).item() < 1e-5,
               "different tokens have different logits, although all weights are equal");
  });
  judge.claim("marks tokens whose symbol occurs exactly twice", [&] {
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
    judge.that(
        right >= 97,
        fmt::format(
            "the model with {} weights is right for {:.1f} % of the tokens, but 97 % are needed (always "
            "\"no\": {:.1f} %); the loss per token is {:.3f}{}",
            weights, right, no, loss,
            right < no + 2
                ? ". The model has learned nothing yet. Is the learning rate too large or too small? Do the "
                  "logits depend on the other tokens?"
                : ". Does b distinguish a symbol that occurs twice from one that occurs once or three times? A "
                  "pair of different symbols should have a weight near 0, because there are many such pairs."),
        {right, loss});
    fmt::print("The model with {} weights is right for {:.1f} % of the tokens; the loss is {:.3f}.\n",
               weights, right, loss);
    judge.score(weights, "weights");
  });
}
