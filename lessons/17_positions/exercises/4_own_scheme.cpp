// 17.4 own_scheme: A position scheme that extrapolates to four times the length
// design, 20 minutes
//
// Write a position scheme. For a scheme `order`, order(n) returns the scores of n queries and n keys, (n, n), with
// row i for the query at position i. The scores are the only information about order. The weights are
// softmax(order(n), -1).
//
// The task is a shift by s: at each position t ≥ s, the model must predict the symbol at position t − s. Its
// prediction is computed from the weighted mixture of all symbols. The shift s is 3, then 4, 5 and 6, with a new
// scheme each time. The scheme must learn s from strings of 12 symbols, in 300 steps of Adam with your learning rate.
//
// After that, at least 99 % of the predictions must be right in strings of 48 symbols. The scheme must have 1 to 40
// parameters. Fewer are better: the grader keeps your best scheme.
//
// The given scheme is ALiBi with a learned slope. You may change all the code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"

//[ the scheme and its learning rate
//: struct Order : Module {
//:   Tensor operator()(Size n) const {  // (n, n)
//:     const Tensor place = arange(0, static_cast<double>(n));
//:     return -slope * abs(unsqueeze(place, 1) - place);
//:   }
//:
//:   Parameter slope{*this, "slope", {1}, constant(0.1)};
//: };
//: constexpr double kLearningRate = 0.1;
struct Order : Module {
  static constexpr Size kReach = 8;  // above the largest s; larger distances are clamped to it

  Tensor operator()(Size n) const {  // (n, n)
    std::vector<std::int64_t> rows;
    for (Size i = 0; i < n; ++i)
      for (Size j = 0; j < n; ++j) rows.push_back(std::clamp(j - i, -kReach, kReach) + kReach);
    return squeeze(embedding(numbers, Indices(rows, {n, n})), 2);
  }

  Parameter numbers{*this, "numbers", {2 * kReach + 1, 1}, zeros};  // one for each distance
};
constexpr double kLearningRate = 0.1;
//]

// hint: Which keys can get the largest score from ALiBi, and which key should get it? Which scheme of the chapter can
//   raise the score of a single distance?
// hint: Use a table with one number for each distance −r … r, where farther distances use the last number. For
//   query i and key j, the row is clamp(j − i, __, __) + __.
// hint: With a Parameter numbers{*this, "numbers", {2 * kReach + 1, 1}, zeros}, embedding(numbers,
//   Indices(rows, {n, n})) is (n, n, 1). Then think about the distances that need a number: keys to the right
//   are never the answer.
//
// start: ALiBi's score falls or rises with |j − i|. So the largest weight is either on the query's own position
//   or on the farthest key but, except at single positions, not on the key s positions back. Also, ALiBi cannot
//   distinguish left from right.
//
// wrong: Left and right share their numbers. So the key s positions ahead gets the same score as the key s positions
//   back, and half of the weight is on the wrong side.
// - for (Size j = 0; j < n; ++j) rows.push_back(std::clamp(j - i, -kReach, kReach) + kReach);
// + for (Size j = 0; j < n; ++j) rows.push_back(std::min(std::abs(j - i), kReach));
// wrong: Your distances repeat with period 12. That has no effect in strings of 12. But in strings of 48, every
//   twelfth key gets the score of the right one.
// - for (Size j = 0; j < n; ++j) rows.push_back(std::clamp(j - i, -kReach, kReach) + kReach);
// + for (Size j = 0; j < n; ++j) rows.push_back((j - i + 120) % 12);
// wrong: With a reach of 2, all distances from 2 on share one number. So the table cannot distinguish the right key
//   from the others that are at least 2 positions back.
// - static constexpr Size kReach = 8;  // above the largest s; larger distances are clamped to it
// + static constexpr Size kReach = 2;
// wrong: You have a number for each position of a key, which is the same for all queries. It can prefer a
//   position, but not a distance.
// - for (Size j = 0; j < n; ++j) rows.push_back(std::clamp(j - i, -kReach, kReach) + kReach);
// + for (Size j = 0; j < n; ++j) rows.push_back(std::min(j, 2 * kReach));
// wrong: A number for each distance up to ±47 exceeds the budget. And strings of 12 never contain distances
//   beyond 11, so these numbers are never trained.
// - static constexpr Size kReach = 8;  // above the largest s; larger distances are clamped to it
// + static constexpr Size kReach = 47;
// wrong: With a learning rate of 0.001, the numbers have hardly changed after 300 steps.
// - constexpr double kLearningRate = 0.1;
// + constexpr double kLearningRate = 0.001;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kSymbols = 32, kRows = 8, kTrained = 12, kTested = 48, kSteps = 300, kTests = 50;

struct Strings {
  Indices symbols, answers;  // (B, n); −1 where there is no answer
};

Strings draw(kit::Random& random, Size rows, Size n, Size step) {
  Ids symbols, answers;
  for (Size row = 0; row < rows; ++row) {
    Ids here;
    for (Size t = 0; t < n; ++t) here.push_back(random.below(kSymbols));
    symbols.insert(symbols.end(), here.begin(), here.end());
    for (Size t = 0; t < n; ++t) answers.push_back(t < step ? -1 : here[static_cast<std::size_t>(t - step)]);
  }
  return {Indices(symbols, {rows, n}), Indices(answers, {rows, n})};
}

/// Returns the logarithm of the mixture, (B, n, symbols).
Tensor logits(const Order& order, const Strings& strings) {
  const Tensor mixture =
      matmul(softmax(order(strings.symbols.shape()[1]), -1), one_hot(strings.symbols, kSymbols));
  return log(mixture + 1e-6);
}

void train(Order& order, Size step, kit::Random& random) {
  Adam adam(order.parameters(), {.learning_rate = kLearningRate});
  for (Size i = 0; i < kSteps; ++i) {
    const Strings strings = draw(random, kRows, kTrained, step);
    Tape tape;
    tape.backward(cross_entropy(logits(order, strings), strings.answers, {.ignore = -1}));
    adam.step();
  }
}

}  // namespace

void judge(Judge& judge) {
  Order order;
  order.initialise(judge.random().next());
  double numbers = 0;
  for (const Tensor& weight : order.parameters()) numbers += static_cast<double>(weight.shape().count());
  judge.claim("stays within the budget",
              [&] { judge.between(numbers, 1, 40, "the number of learned numbers"); });
  judge.claim("returns a score for each pair", [&] {
    for (const Size n : {1, 5, 48}) judge.same(order(n).shape(), {n, n}, "order(n)");
  });
  judge.claim("finds the key s positions back, in strings of 48", [&] {
    for (Size step = 3; step <= 6; ++step) {
      judge.example("s = " + std::to_string(step));
      Order scheme;
      scheme.initialise(judge.random().next());
      train(scheme, step, judge.random());
      std::vector<double> right, losses;
      for (const Size n : {kTrained, kTested}) {
        const Strings test = draw(judge.random(), kTests, n, step);
        const Tensor said = logits(scheme, test);
        losses.push_back(cross_entropy(said, test.answers, {.ignore = -1}).item());
        const Ids best = argmax(said).to_vector(), wanted = test.answers.to_vector();
        double hits = 0, asked = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i)
          if (wanted[i] >= 0) {
            asked += 1;
            hits += best[i] == wanted[i];
          }
        right.push_back(100 * hits / asked);
      }
      judge.that(
          right[1] >= 99,
          fmt::format(
              "the scheme with {} numbers is right for {:.1f} % of the symbols in strings of 12 and for "
              "{:.1f} % in strings of 48, where 99 % are needed; the loss per symbol in strings of 48 is "
              "{:.3f}",
              numbers, right[0], right[1], losses[1]),
          {right[0], right[1], losses[0], losses[1]});
      fmt::print(
          "The scheme with {} numbers is right for {:.1f} % of the symbols {} positions back in "
          "strings of 48; the loss is {:.3f}.\n",
          numbers, right[1], step, losses[1]);
    }
    judge.score(numbers, "learned numbers");
  });
}
