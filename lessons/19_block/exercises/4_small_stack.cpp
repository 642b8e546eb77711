// 19.4 small_stack: follow two pointers, with few weights
// design, 30 minutes, limit 60 s, fast
//
// Build a stack that follows pointers. Six cards lie in a row, each with the number of a card and a digit
// from 0 to 5. A card points to a second one, and that to a third; the answer for it is the digit of the
// third. After 600 steps of Adam with your learning rate 95 of 100 answers must be right, with at most 3,000
// weights. Fewer are better: your best stack is kept.
//
//     cards (B, 6, kWidth) → (B, 6, kWidth)
//
// Around it stand tables of places, pointers and digits, 18 rows of kWidth in all, and a Linear that answers;
// their weights count, too. Change whatever you like in the hole. (.hidden is the feed-forward's units, four
// times the width if you do not say it; TransformerStack's second argument is the number of blocks.)
#include "lessons/grader/answer.hpp"
#include "nn/transformer/stack.hpp"

//[ the width, the stack, and how fast it learns
//: constexpr Size kWidth = 16;
//: struct Reader : Module {
//:   Tensor operator()(const Tensor& cards) const { return stack(cards); }
//:
//:   TransformerStack stack{{*this, "stack"}, 1, {.width = kWidth, .heads = 2, .hidden = 32}, {}};
//: };
//: constexpr double kLearningRate = 0.01;
constexpr Size kWidth = 16;
struct Reader : Module {
  Tensor operator()(const Tensor& cards) const { return stack(cards); }

  TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2, .feed_forward = false}, {}};
};
constexpr double kLearningRate = 0.01;
//]

// hint: The digit to read is known only after a first look. How many looks does one block take, one after the
//   other?
// hint: Two blocks cost twice the weights. Which part of a block does this task not need? (A sum would.)
// hint: TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2, .____ = false}, {}}. Then
//   make it smaller, and mind that 18 rows must still be told apart.
//
// start: One block looks once. All of its heads ask at the same time, before any of them has seen where the
//   first pointer leads.
//
// wrong: More heads in one block ask more questions, but all at the same time. Whom to ask second is known
//   only after the first answer.
// - TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2, .feed_forward = false}, {}};
// + TransformerStack stack{{*this, "stack"}, 1, {.width = kWidth, .heads = 8, .hidden = 32}, {}};
// wrong: Two blocks are right, but their feed-forwards hold most of the weights. Does this task ask for
//   anything that attention cannot do?
// - TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2, .feed_forward = false}, {}};
// + TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2}, {}};
// wrong: A card is three vectors added up. With 8 numbers, 4 in each head, six places, six pointers and six
//   digits are hardly told apart.
// - constexpr Size kWidth = 16;
// + constexpr Size kWidth = 8;
// wrong: With a rate of 0.0001 the stack has hardly begun to learn after 600 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a rate of 1 each step jumps far past where the gradient points to.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 1;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "nn/embedding.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kCards = 6, kDigits = 6, kMost = 3000;
constexpr Size kRows = 32, kSteps = 600, kTests = 200;

struct Cards {
  Indices pointers, digits, answers;  // (B, 6) each
};

Cards deal(kit::Random& random, Size rows) {
  Ids pointers, digits, answers, pointer(kCards), digit(kCards);
  std::iota(pointer.begin(), pointer.end(), 0);
  for (Size row = 0; row < rows; ++row) {
    random.shuffle(pointer);
    for (std::int64_t& d : digit) d = random.below(kDigits);
    pointers.insert(pointers.end(), pointer.begin(), pointer.end());
    digits.insert(digits.end(), digit.begin(), digit.end());
    for (const std::int64_t place : pointer) {
      answers.push_back(digit[static_cast<std::size_t>(pointer[static_cast<std::size_t>(place)])]);
    }
  }
  return {Indices(pointers, {rows, kCards}), Indices(digits, {rows, kCards}),
          Indices(answers, {rows, kCards})};
}

/// What stands around the stack.
struct Frame : Module {
  Tensor operator()(const Reader& reader, const Cards& cards) const {
    const Tensor states = reader(places.weight + pointers(cards.pointers) + digits(cards.digits));
    return answer(states);  // (B, 6, 6)
  }

  Embedding places{{*this, "places"}, kCards, kWidth}, pointers{{*this, "pointers"}, kCards, kWidth};
  Embedding digits{{*this, "digits"}, kDigits, kWidth};
  Linear answer{{*this, "answer"}, kWidth, kDigits};
};

void train(const Frame& frame, const Reader& reader, kit::Random& random) {
  std::vector<Tensor> weights = frame.parameters();
  for (const Tensor& weight : reader.parameters()) weights.push_back(weight);
  grader::train(weights, kLearningRate, kSteps, [&] {
    const Cards cards = deal(random, kRows);
    return cross_entropy(frame(reader, cards), cards.answers);
  });
}

/// In per cent.
double right_answers(const Tensor& logits, const Cards& cards) {
  const Ids said = argmax(logits).to_vector(), wanted = cards.answers.to_vector();
  double right = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) right += said[i] == wanted[i];
  return 100 * right / static_cast<double>(wanted.size());
}

}  // namespace

void judge(Judge& judge) {
  Frame frame;
  Reader reader;
  frame.initialise(judge.random().next());
  reader.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(frame) + kit::weights_of(reader));
  judge.claim("keeps to the budget", [&] { judge.between(weights, 1, kMost, "the weights"); });
  judge.claim("gives a state for each card", [&] {
    judge.same(reader(random_normal({3, kCards, kWidth}, 1)).shape(), {3, kCards, kWidth},
               "the states' shape");
  });
  judge.claim("follows two pointers", [&] {
    train(frame, reader, judge.random());
    reader.eval();
    const Cards cards = deal(judge.random(), kTests);
    const Tensor logits = frame(reader, cards);
    const double right = right_answers(logits, cards), loss = cross_entropy(logits, cards.answers).item();
    judge.that(right >= 95,
               fmt::format("{} weights get {:.1f} % of the answers right, of which 95 % are wanted; the loss "
                           "of an answer is {:.3f}",
                           weights, right, loss),
               {right, loss});
    fmt::print("{} weights get {:.1f} % of the answers right; the loss is {:.3f}.\n", weights, right, loss);
    judge.score(weights, "weights");
  });
}
