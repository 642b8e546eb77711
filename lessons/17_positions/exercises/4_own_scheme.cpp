// 17.4 own_scheme: a scheme that holds at four times the length
// design, 20 minutes
//
// Write what is added to the scores of n queries and n keys, Order(n) → (n, n), row i for the query at place
// i. Nothing else tells keys apart: the weights are softmax(Order(n), -1), and at each place t the symbol of
// place t − s is to be named from the mixture of all symbols. The step s is 3, then 4, 5 and 6, a new scheme each
// time. It is not told which, but learns it from strings of 12, in 300 steps of Adam with your learning rate.
// Then it must be right on 99 of 100 symbols in strings of 48, with at most 40 learned numbers. Fewer are
// better: your best scheme is kept.
//
// Given is ALiBi with a slope that is learned. Change whatever you like in the hole.
#include "lessons/grader/answer.hpp"

//[ the scheme, and how fast it learns
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
  static constexpr Size kReach = 8;  // farther than any step, and farther distances count as this one

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

// hint: Which keys get the largest score from ALiBi, whatever its slope is? Which key is wanted? And which of
//   the lesson's schemes can raise the score of one distance alone?
// hint: A table with one number for each distance −r … r, of which farther ones take the last: the row for
//   query i and key j is clamp(j − i, __, __) + __.
// hint: embedding(numbers, Indices(rows, {n, n})) is (n, n, 1) for a Parameter numbers{*this, "numbers", {2 *
//   kReach + 1, 1}, zeros}. Then ask which distances need a number of their own: keys to the right never do.
//
// start: ALiBi's score falls, or rises, with |j − i|: either the place itself has the largest weight or the
//   farthest key, but never the key s places back. And left is the same as right.
//
// wrong: Left and right share their numbers: s places back is the same as s places on, so half of the weight
//   goes to the wrong side.
// - for (Size j = 0; j < n; ++j) rows.push_back(std::clamp(j - i, -kReach, kReach) + kReach);
// + for (Size j = 0; j < n; ++j) rows.push_back(std::min(std::abs(j - i), kReach));
// wrong: Distances come round after 12, like a hand of rotary. In strings of 12 that does no harm, but in 48
//   every twelfth key looks like the right one.
// - for (Size j = 0; j < n; ++j) rows.push_back(std::clamp(j - i, -kReach, kReach) + kReach);
// + for (Size j = 0; j < n; ++j) rows.push_back((j - i + 120) % 12);
// wrong: With a reach of 2 all steps from 3 on share one number: the table is too short to tell the wanted
//   key from those behind it.
// - static constexpr Size kReach = 8;  // farther than any step, and farther distances count as this one
// + static constexpr Size kReach = 2;
// wrong: A number for each key's place is the same for all queries. It can prefer a place, but not a
//   distance.
// - for (Size j = 0; j < n; ++j) rows.push_back(std::clamp(j - i, -kReach, kReach) + kReach);
// + for (Size j = 0; j < n; ++j) rows.push_back(std::min(j, 2 * kReach));
// wrong: A number for each distance to ±47 is more than the budget, and training at 12 never sees those
//   beyond 11.
// - static constexpr Size kReach = 8;  // farther than any step, and farther distances count as this one
// + static constexpr Size kReach = 47;
// wrong: With a rate of 0.001 the numbers have hardly moved after 300 steps.
// - constexpr double kLearningRate = 0.1;
// + constexpr double kLearningRate = 0.001;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kSymbols = 32, kRows = 8, kTrained = 12, kTested = 48, kSteps = 300, kTests = 50;

struct Strings {
  Indices symbols, answers;  // (B, n); no answer: −1
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

/// The logarithm of the mixture: (B, n, symbols).
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
  judge.claim("keeps to the budget", [&] { judge.between(numbers, 1, 40, "the learned numbers"); });
  judge.claim("has a number for each pair", [&] {
    for (const Size n : {1, 5, 48}) judge.same(order(n).shape(), {n, n}, "Order(n)");
  });
  judge.claim("finds the key s places back, in strings of 12 and of 48", [&] {
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
          fmt::format("{} numbers are right on {:.1f} % of the symbols in strings of 12 and on {:.1f} % in "
                      "strings of 48, of which 99 % are wanted; the loss of a symbol there is {:.3f}",
                      numbers, right[0], right[1], losses[1]),
          {right[0], right[1], losses[0], losses[1]});
      fmt::print(
          "{} numbers are right on {:.1f} % of the symbols {} places back in strings of 48; the loss is {:.3f}.\n",
          numbers, right[1], step, losses[1]);
    }
    judge.score(numbers, "learned numbers");
  });
}
