// 19.4 small_stack: Follow two pointers with few weights
// design, 30 minutes, limit 60 s, fast
//
// Build a stack of blocks that follows two pointers. Six cards lie in a row. Each card shows a pointer, which
// is the number of a card, and a digit from 0 to 5. A card points to a second card, and the second card points
// to a third one. The answer for the first of these cards is the digit of the third.
//
//     cards (B, 6, kWidth) → (B, 6, kWidth)
//
// The stack is trained for 600 steps of Adam with your learning rate. Then 95 of 100 answers must be right,
// with at most 3,000 weights. Fewer weights are better, and your stack with the fewest weights is saved.
//
// The rest of the model consists of embedding tables for places, pointers and digits, 18 rows of kWidth in all,
// and a Linear for the answers. Their weights count, too.
//
// You may change all the code between the lines with ↓ and ↑. The option .hidden is the number of hidden units
// of the feed-forward, by default four times the width. TransformerStack's second argument is the number of
// blocks.
#include "lessons/grader/answer.hpp"
#include "nn/transformer/stack.hpp"

//[ the width, the stack, and its learning rate
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

// hint: The third card is known only after the model has followed the first pointer. How many attention layers
//   follow each other in one block?
// hint: Two blocks have twice as many weights as one. Which part of a block does this task not need? (The task
//   "sum" of the lesson would need it.)
// hint: TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2, .____ = false}, {}}. Then
//   make the stack smaller, but keep the 18 rows distinguishable.
//
// start: One block has only one attention layer. All its heads attend at the same time, before any of them has
//   followed the first pointer.
//
// wrong: More heads in one block ask more questions, but all at the same time. Which card to attend to second
//   is known only after the first attention.
// - TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2, .feed_forward = false}, {}};
// + TransformerStack stack{{*this, "stack"}, 1, {.width = kWidth, .heads = 8, .hidden = 32}, {}};
// wrong: Two blocks are right, but their feed-forwards contain most of the weights. Does this task need
//   anything that attention cannot compute?
// - TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2, .feed_forward = false}, {}};
// + TransformerStack stack{{*this, "stack"}, 2, {.width = kWidth, .heads = 2}, {}};
// wrong: A card is the sum of three vectors. With a width of 8, so 4 numbers per head, the model can hardly
//   distinguish six places, six pointers and six digits.
// - constexpr Size kWidth = 16;
// + constexpr Size kWidth = 8;
// wrong: With a learning rate of 0.0001 the stack has hardly begun to learn after 600 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a learning rate of 1 the steps are far too large, so the model does not learn the task.
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

/// The rest of the model: embedding tables, and a Linear for the answers.
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

/// Returns the percentage of right answers.
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
  judge.claim("has at most 3,000 weights",
              [&] { judge.between(weights, 1, kMost, "the number of weights"); });
  judge.claim("returns a state for each card", [&] {
    judge.same(reader(random_normal({3, kCards, kWidth}, 1)).shape(), {3, kCards, kWidth},
               "the shape of the states");
  });
  judge.claim("answers at least 95 % of the questions correctly", [&] {
    train(frame, reader, judge.random());
    reader.eval();
    const Cards cards = deal(judge.random(), kTests);
    const Tensor logits = frame(reader, cards);
    const double right = right_answers(logits, cards), loss = cross_entropy(logits, cards.answers).item();
    judge.that(
        right >= 95,
        fmt::format(
            "with {} weights, {:.1f} % of the answers are right, but at least 95 % are required; the mean loss "
            "of an answer is {:.3f}",
            weights, right, loss),
        {right, loss});
    fmt::print("With {} weights, {:.1f} % of the answers are right; the loss is {:.3f}.\n", weights, right,
               loss);
    judge.score(weights, "weights");
  });
}
