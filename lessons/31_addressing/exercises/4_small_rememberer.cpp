// 31.4 small_rememberer: few weights that remember far
// design, 20 minutes, limit 60 s, fast
//
// 24 letters of eight kinds come in, one of the first five is marked, then comes "end": name the marked letter. A model
// around nn/'s LSTMN is asked at "end" alone, memory(words).states being (B, 25, kHidden), and is to learn it in 200
// batches of 32, by Adam with your learning rate, so that 95 % are right. Fewer weights are better: at most 6,000, and
// your best is kept. Change the constants.
//
//     letters (B, 25), 0 … 7 and 8 for none; marks (B, 25), 1 for the marked one and 2 for "end", else 0; logits (B, 8)
#include "lessons/grader/answer.hpp"
#include "nn/attention/recurrent/lstmn.hpp"
#include "nn/embedding.hpp"

//[ sizes, and how fast it learns
//: constexpr Size kWidth = 32, kHidden = 64, kUnits = 64;
//: constexpr double kLearningRate = 0.01;
constexpr Size kWidth = 12;             // of a word
constexpr Size kHidden = 16;            // of a state: one letter, and whether it is marked
constexpr Size kUnits = 8;              // of the score
constexpr double kLearningRate = 0.01;  // per step
//]

struct Rememberer : Module {
  Tensor operator()(const Indices& of_letters, const Indices& of_marks) const {
    const Tensor words = letters(of_letters) + marks(of_marks);
    const Tensor states = memory(words).states;  // (B, 25, kHidden): each looks back at those before it
    return answer(select(states, 1, states.size(1) - 1));  // at "end": what is not remembered is lost
  }

  Embedding letters{{*this, "letters"}, 9, kWidth}, marks{{*this, "marks"}, 3, kWidth};
  LSTMN memory{{*this, "memory"}, kWidth, kHidden, kUnits};
  Linear answer{{*this, "answer"}, kHidden, 8};
};

// hint: The first letters reach "end" through the states of the LSTMN. Which of the sizes is that of a state?
// hint: Most weights are in the LSTM: 4 · kHidden · (kWidth + ______). How much must one state hold?
// hint: Halve a size as long as it still learns: kHidden first, then kWidth; kUnits may be the smallest.
//
// start: The sizes are those of a larger task. How many numbers does a state need that holds one letter of eight?
//
// wrong: A state of 64 numbers holds more than a letter, and its weights are over the budget.
// - constexpr Size kHidden = 16;
// + constexpr Size kHidden = 64;
// wrong: A state of two numbers is too small for eight letters and for finding the marked one.
// - constexpr Size kHidden = 16;
// + constexpr Size kHidden = 2;
// wrong: With a rate of 0.0001 hardly anything is learned in 200 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a rate of 0.5 each step leaps over what it looks for, and nothing is learned.
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
  judge.claim("names letters", [&] {
    const Texts two = draw(judge.random(), 2);
    judge.same(model(two.letters, two.marks).shape(), Dims{2, 8}, "the shape of the logits");
  });
  judge.claim("keeps to the budget of weights", [&] { judge.between(weights, 1, 6'000, "the weights"); });
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
        fmt::format(
            "{:.0f} weights name {:.1f} % of the marked letters, of which 95 % are wanted; the loss of a "
            "letter is {:.3f}{}",
            weights, right, loss, kLearningRate < 0.1 ? "" : ". Your learning rate is very large"),
        {right, loss});
    fmt::print("{:.0f} weights name {:.1f} % of the marked letters.\n", weights, right);
    judge.score(weights, "weights");
  });
}
