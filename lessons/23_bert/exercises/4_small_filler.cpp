// 23.4 small_filler: A small model for hidden words
// design, 30 minutes, limit 60 s, fast
//
// A text consists of five words of a first language, followed by their translations in the same order. The
// first language has ten words, and each has its own translation in the second language. Two of the ten
// positions are hidden, never a word together with its translation.
//
// Build a model that predicts at least 95 % of the hidden words of new texts correctly, in both halves, with
// at most 15,000 weights. The judge trains it with Adam on 600 batches of 64 texts. Your learning rate is the
// peak of the learning rate schedule. Models with fewer weights score better, and your best model is kept.
//
//     words (B, 10): 0 is [mask], 1 … 10 the first language, 11 … 20 the second       logits (B, 10, 21)
//
// You may change all the code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/transformer/transformer.hpp"

constexpr Size kWords = 21;

//[ the model and its learning rate
//: TransformerOptions sizes() {
//:   TransformerOptions options;
//:   options.vocabulary = kWords;
//:   options.layers = 1;
//:   options.block = {.width = 32, .heads = 2, .hidden = 64};
//:   options.positions = learned_positions(10, 0.5);
//:   return options;
//: }
//:
//: struct Filler : Module {
//:   Tensor operator()(const Indices& words) const { return model(words); }
//:
//:   LanguageModel model{{*this, "model"}, sizes()};
//: };
//: constexpr double kLearningRate = 0.01;
TransformerOptions sizes() {
  TransformerOptions options;
  options.vocabulary = kWords;
  options.layers = 1;
  options.block = {.width = 32, .heads = 2, .hidden = 64};
  options.positions = learned_positions(10, 0.5);
  return options;
}

struct Filler : Module {
  Tensor operator()(const Indices& words) const { return output(encoder(words)); }

  TransformerEncoder encoder{{*this, "encoder"}, sizes()};  // attends in both directions
  Linear output{{*this, "output"}, 32, kWords};
};
constexpr double kLearningRate = 0.01;
//]

// hint: At which position is the translation of the second word? May a language model attend to that position
//   from the second word?
// hint: TransformerEncoder encoder{{*this, "encoder"}, sizes()}; returns states (B, 10, 32). Which layer maps
//   each state to 21 logits?
// hint: Add Linear output{{*this, "output"}, 32, kWords}; to the encoder. Then make width and hidden smaller,
//   or tie output.weight to encoder.input.words.weight, and watch the percentage of words predicted
//   correctly.
//
// start: A language model is causal: each position attends only to itself and to positions on its left. The
//   translation of a word in the first half is on its right, so there the model can only guess. It predicts
//   only the hidden words of the second half. An encoder attends in both directions.
//
// wrong: Two layers need more weights than the budget allows, and the task does not need them.
// - options.layers = 1;
// + options.layers = 2;
// wrong: With a learning rate of 0.0001, the model has not finished learning after 600 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a learning rate of 0.5, each step is so long that the training does not converge.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "nn/loss.hpp"
#include "optim/clip.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kPairs = 5, kOfLanguage = 10, kRows = 64, kSteps = 600, kTests = 500;

struct Texts {
  Indices words, answers;  // answers: −1 where no word is hidden
};

Texts draw(kit::Random& random, const Ids& dictionary, Size rows) {
  Ids words, answers;
  for (Size row = 0; row < rows; ++row) {
    Ids text, places;
    for (Size i = 0; i < kPairs; ++i) text.push_back(random.between(1, kOfLanguage)), places.push_back(i);
    for (Size i = 0; i < kPairs; ++i)
      text.push_back(dictionary[static_cast<std::size_t>(text[static_cast<std::size_t>(i)] - 1)]);
    random.shuffle(places);
    Ids asked(text.size(), -1);
    for (const std::size_t i : {0U, 1U}) {
      const auto at = static_cast<std::size_t>(places[i] + (random.chance(0.5) ? kPairs : 0));
      asked[at] = text[at];
      text[at] = 0;
    }
    words.insert(words.end(), text.begin(), text.end());
    answers.insert(answers.end(), asked.begin(), asked.end());
  }
  return {Indices(words, {rows, 2 * kPairs}), Indices(answers, {rows, 2 * kPairs})};
}

/// Returns the percentage of the hidden words of one half that were predicted correctly.
double found(const Ids& said, const Ids& wanted, bool second_half) {
  double right = 0, all = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < 0 || (i % (2 * kPairs) >= kPairs) != second_half) continue;
    ++all;
    right += said[i] == wanted[i];
  }
  return 100 * right / all;
}

}  // namespace

void judge(Judge& judge) {
  Ids dictionary(kOfLanguage);
  std::iota(dictionary.begin(), dictionary.end(), kOfLanguage + 1);
  judge.random().shuffle(dictionary);
  Filler model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("stays within the budget", [&] { judge.between(weights, 1, 15000, "the weights"); });
  judge.claim("returns logits for each position", [&] {
    judge.same(model(draw(judge.random(), dictionary, 3).words).shape(), {3, 2 * kPairs, kWords},
               "the logits' shape");
  });
  judge.claim("predicts hidden words", [&] {
    Adam adam(model.parameters(), {.learning_rate = kLearningRate});
    for (Size step = 1; step <= kSteps; ++step) {
      const double part = static_cast<double>(step) / kSteps;
      const Texts texts = draw(judge.random(), dictionary, kRows);
      Tape tape;
      tape.backward(cross_entropy(model(texts.words), texts.answers));
      clip_gradients(model.parameters(), 1.0);
      adam.step(std::min(20 * part, 0.02 + std::cos(std::numbers::pi / 2 * part)));  // warm-up, then decay
    }
    model.eval();
    const Texts texts = draw(judge.random(), dictionary, kTests);
    const Ids said = argmax(model(texts.words)).to_vector(), wanted = texts.answers.to_vector();
    const double first = found(said, wanted, false), second = found(said, wanted, true);
    judge.that(
        first >= 95 && second >= 95,
        fmt::format("{} weights predict {:.1f} % of the hidden words of the first half and {:.1f} % of the "
                    "second; both must be at least 95 %",
                    weights, first, second),
        {first, second});
    fmt::print("{} weights predict {:.1f} and {:.1f} % of the hidden words of the two halves.\n", weights,
               first, second);
    judge.score(weights, "weights");
  });
}
