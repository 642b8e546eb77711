// 31.4 small_rememberer: A small LSTMN
// design, 20 minutes, limit 60 s, fast
//
// The input has 24 letters of eight kinds, then "end". One of the first five letters is marked, and the model must
// name the marked letter at "end". The model is an LSTMN. Its states are (B, 25, kHidden), and the answer is computed
// from the last state.
//
// Choose the sizes and the learning rate. The model is trained with Adam on 200 batches of 32 strings. At least 95 %
// of the answers must be right. Fewer parameters are better. You may use at most 6,000. Your best model is kept, and
// the result to beat is 2,568.
//
//     letters (B, 25), 0 … 7, and 8 for none; logits (B, 8)
//     marks (B, 25), 1 for the marked letter, 2 for "end", else 0
#include "lessons/grader/answer.hpp"
#include "nn/attention/recurrent/lstmn.hpp"
#include "nn/embedding.hpp"

//[ sizes, and how fast it learns
//: constexpr Size kWidth = 32, kHidden = 64, kUnits = 64;
//: constexpr double kLearningRate = 0.01;
constexpr Size kWidth = 12;             // width of an input
constexpr Size kHidden = 16;            // width of a state: one letter, and whether it is marked
constexpr Size kUnits = 8;              // hidden units of the score
constexpr double kLearningRate = 0.01;  // per step
//]

struct Rememberer : Module {
  Tensor operator()(const Indices& of_letters, const Indices& of_marks) const {
    const Tensor words = letters(of_letters) + marks(of_marks);
    const Tensor states = memory(words).states;  // (B, 25, kHidden): each state attends to all earlier states
    return answer(select(states, 1, states.size(1) - 1));  // the state at "end"
  }

  Embedding letters{{*this, "letters"}, 9, kWidth}, marks{{*this, "marks"}, 3, kWidth};
  LSTMN memory{{*this, "memory"}, kWidth, kHidden, kUnits};
  Linear answer{{*this, "answer"}, kHidden, 8};
};

// hint: The first letters reach "end" through the states of the LSTMN. Which constant is the width of a state?
// hint: Most parameters are in the LSTM: 4 · kHidden · (kWidth + ______). How much must one state store?
// hint: Halve a size for as long as the model still learns: kHidden first, then kWidth. kUnits may be the smallest.
//
// start: These sizes suit a larger task. How many numbers does a state need to store one letter of eight?
//
// wrong: A state of 64 numbers is larger than one letter needs, and its parameters exceed the budget.
// - constexpr Size kHidden = 16;
// + constexpr Size kHidden = 64;
// wrong: A state of two numbers is too small to store one of eight letters and to let the score find the mark.
// - constexpr Size kHidden = 16;
// + constexpr Size kHidden = 2;
// wrong: Your learning rate is too small. With 0.0001, the model has hardly learned anything after 200 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: Your learning rate is too large. With 0.5, each step overshoots, and the model learns nothing.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "nn/loss.hpp"

namespace {

constexpr Size kRows = 32, kSteps = 200, kTests = 400, kGiven = 24;

struct Texts {
  Indices letters, marks, answers;
};

Texts draw(kit::Random& random, Size rows) {
  std::vector<std::int64_t> letters, marks, answers;
  for (Size row = 0; row < rows; ++row) {
    const Size marked = random.below(5);
    for (Size i = 0; i < kGiven; ++i) {
      letters.push_back(random.below(8)), marks.push_back(i == marked);
      if (i == marked) answers.push_back(letters.back());
    }
    letters.push_back(8), marks.push_back(2);
  }
  return {Indices(letters, {rows, kGiven + 1}), Indices(marks, {rows, kGiven + 1}), Indices(answers, {rows})};
}

}  // namespace

void judge(Judge& judge) {
  Rememberer model;
  model.initialise(judge.random().next());
  double weights = 0;
  for (const Tensor& each : model.parameters()) weights += static_cast<double>(each.count());
  judge.claim("returns logits for the letters", [&] {
    const Texts two = draw(judge.random(), 2);
    judge.same(model(two.letters, two.marks).shape(), Dims{2, 8}, "the shape of the logits");
  });
  judge.claim("stays within the budget of parameters",
              [&] { judge.between(weights, 1, 6'000, "parameters"); });
  judge.claim("remembers the marked letter", [&] {
    grader::train(model.parameters(), kLearningRate, kSteps, [&] {
      const Texts texts = draw(judge.random(), kRows);
      return cross_entropy(model(texts.letters, texts.marks), texts.answers);
    });
    model.eval();
    const Texts tests = draw(judge.random(), kTests);
    const Tensor logits = model(tests.letters, tests.marks);
    const auto said = argmax(logits).to_vector(), wanted = tests.answers.to_vector();
    double right = 0;
    for (std::size_t i = 0; i < said.size(); ++i)
      right += said[i] == wanted[i] ? 100.0 / static_cast<double>(said.size()) : 0;
    const double loss = cross_entropy(logits, tests.answers).item();
    judge.that(
        right >= 95,
        fmt::format("{:.0f} parameters name {:.1f} % of the marked letters correctly; the target is 95 %, "
                    "and the loss is {:.3f}{}",
                    weights, right, loss, kLearningRate < 0.1 ? "" : ". Your learning rate is very large"),
        {right, loss});
    fmt::print("{:.0f} parameters name {:.1f} % of the marked letters correctly.\n", weights, right);
    judge.score(weights, "parameters");
  });
}
