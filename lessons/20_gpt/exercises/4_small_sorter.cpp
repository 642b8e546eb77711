// 20.4 small_sorter: A GPT that sorts with few weights
// design, 30 minutes, limit 60 s, fast
//
// Build a GPT that sorts five digits. A text consists of five digits, "=" (token 10), and the same digits
// sorted. The loss counts only the tokens after "=".
//
//     ids (B, T) → logits (B, T, 11): the logits at a position predict the next token and do not depend on later tokens
//
// The model is trained on 300 batches of 32 texts, with Adam and your learning rate. Then it generates 200 answers
// digit by digit, and each generated digit becomes the next input. An answer is right if all five digits are
// right, and at least 90 % of the answers must be right. The model may have at most 3,500 weights. Fewer weights
// are better, and your model with the fewest weights is saved.
//
// LanguageModel is nn/'s version of the chapter's GPT. You may change all the code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/positions/positions.hpp"
#include "nn/transformer/language_model.hpp"

constexpr Size kTokens = 11, kLongest = 10;

//[ the model and its learning rate
//: TransformerOptions sizes() {
//:   TransformerOptions options{.vocabulary = kTokens, .layers = 3};
//:   options.block.width = 12;
//:   options.block.heads = 4;
//:   options.block.hidden = 12;
//:   options.block.norm_position = NormPosition::none;
//:   options.block.residual = false;
//:   options.positions = learned_positions(kLongest, 0.25);
//:   options.scale_words = false;
//:   return options;
//: }
//: constexpr double kLearningRate = 0.01;
TransformerOptions sizes() {
  TransformerOptions options{.vocabulary = kTokens, .layers = 1};  // one attention layer is enough here
  options.block.width = 16;
  options.block.heads = 4;
  options.block.hidden = 32;                        // hidden units of the feed-forward layer
  options.block.norm_position = NormPosition::pre;  // normalises the input of each sublayer
  options.block.residual = true;                    // information and gradients can bypass the sublayers
  options.positions = learned_positions(kLongest, 0.25);
  options.scale_words = false;
  return options;
}
constexpr double kLearningRate = 0.02;
//]

struct Sorter : Module {
  Tensor operator()(const Indices& ids) const { return model(ids); }
  LanguageModel model{{*this, "model"}, sizes()};
};

// hint: The given model has three stacked blocks, and something is missing in each of them. What did the
//   chapter's table show about bare blocks?
// hint: Set options.block.residual and .norm_position as in a GPT. Then count the weights. Does this task need
//   three blocks?
// hint: With .layers = 1, a norm and a residual, try widths between 12 and 20, twice as many hidden units as
//   the width, and up to twice the given learning rate. Then reduce one size at a time, and check the
//   percentage of right answers.
//
// start: The loss is hardly lower than for a random guess among ten digits, because the gradients of the first
//   weights are very small. Which parts of the model are between these weights and the loss?
//
// wrong: With the lesson's sizes the model has too many weights for this exercise. The number of weights in a
//   block grows with the square of its width.
// - options.block.width = 16;
// + options.block.width = 64;
// wrong: With a learning rate of 0.0005 this small model has not finished learning after 300 steps.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.0005;
// wrong: With a learning rate of 0.5 the steps are far too large, so the model does not learn the task.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t kEquals = 10;
constexpr Size kDigits = 5, kRows = 32, kSteps = 300, kTests = 200;

struct Texts {
  Indices ids;      // (B, 10): five digits, "=", and the first four sorted digits
  Indices targets;  // (B, 10): the next token from "=" on; −1 (not counted in the loss) before
};

Texts draw(kit::Random& random, Size rows) {
  Ids ids, targets;
  for (Size row = 0; row < rows; ++row) {
    Ids digits;
    for (Size i = 0; i < kDigits; ++i) digits.push_back(random.below(kEquals));
    ids.insert(ids.end(), digits.begin(), digits.end());
    ids.push_back(kEquals);
    targets.insert(targets.end(), digits.size(), -1);
    std::sort(digits.begin(), digits.end());
    ids.insert(ids.end(), digits.begin(), digits.end() - 1);
    targets.insert(targets.end(), digits.begin(), digits.end());
  }
  return {Indices(ids, {rows, kLongest}), Indices(targets, {rows, kLongest})};
}

void train(Sorter& model, kit::Random& random) {
  grader::train(model.parameters(), kLearningRate, kSteps, [&] {
    const Texts texts = draw(random, kRows);
    return cross_entropy(model(texts.ids), texts.targets);
  });
}

/// Returns the percentage of answers whose digits are all right. Each generated digit becomes the next input.
double generation_accuracy(const Sorter& model, const Texts& texts) {
  Ids text = texts.ids.columns(0, kDigits + 1).to_vector(), expected = texts.targets.to_vector();
  std::vector<bool> right(kTests, true);
  for (Size t = kDigits; t < kLongest; ++t) {
    const Ids next = argmax(select(model(Indices(text, {kTests, t + 1})), 1, t)).to_vector();
    Ids longer;
    for (std::size_t row = 0; row < next.size(); ++row) {
      const auto from = text.begin() + static_cast<std::ptrdiff_t>(row) * (t + 1);
      longer.insert(longer.end(), from, from + t + 1);
      longer.push_back(next[row]);
      right[row] = right[row] && next[row] == expected[row * kLongest + static_cast<std::size_t>(t)];
    }
    text = longer;
  }
  return 100.0 * static_cast<double>(std::count(right.begin(), right.end(), true)) / kTests;
}

}  // namespace

void judge(Judge& judge) {
  Sorter model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("has at most 3,500 weights", [&] { judge.between(weights, 1, 3500, "the number of weights"); });
  judge.claim("computes logits that do not depend on later tokens", [&] {
    const Texts texts = draw(judge.random(), 3);
    const Tensor logits = model(texts.ids);
    judge.same(logits.shape(), {3, kLongest, kTokens}, "the logits");
    Ids changed = texts.ids.to_vector();
    for (std::size_t i = 0; i < changed.size(); ++i)
      if (i % kLongest >= 6) changed[i] = (changed[i] + 1) % 10;
    judge.example("two texts with different tokens from the 7th token on");
    judge.same(slice(model(Indices(changed, texts.ids.shape())), 1, 0, 6), slice(logits, 1, 0, 6),
               "the logits of the first 6 tokens", 1e-5);
  });
  judge.claim("sorts five digits", [&] {
    train(model, judge.random());
    model.eval();
    const Texts texts = draw(judge.random(), kTests);
    const double loss = cross_entropy(model(texts.ids), texts.targets).item();
    const double right = generation_accuracy(model, texts);
    const std::string result = fmt::format(
        "With {} weights, {:.1f} % of the answers are right; the loss is {:.3f}", weights, right, loss);
    judge.that(right >= 90, result + "; at least 90 % are required", {right, loss});
    fmt::print("{}.\n", result);
    judge.score(weights, "weights");
  });
}
