// 23.4 small_filler: fill in hidden words with few weights
// design, 30 minutes, limit 60 s, fast
//
// A text has five words of one language and then, in the same order, their five translations; each of the
// ten words of the first language has one of its own in the second. Two of the ten places are hidden, never a
// word and its translation. Build a model that finds 95 % of the hidden words in new texts, with at most
// 15,000 weights. It is trained with 600 batches of 64 texts, by Adam with your learning rate as its peak.
// Fewer weights are better: your best model is kept.
//
//     words (B, 10): 0 is [mask], 1 … 10 the first language, 11 … 20 the second       logits (B, 10, 21)
//
// Change whatever you like in the hole.
#include "lessons/grader/answer.hpp"
#include "nn/transformer/transformer.hpp"

constexpr Size kWords = 21;

//[ the model, and how fast it learns
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

  TransformerEncoder encoder{{*this, "encoder"}, sizes()};  // it reads in both directions
  Linear output{{*this, "output"}, 32, kWords};
};
constexpr double kLearningRate = 0.01;
//]

// hint: Where does the translation of the second word stand? And may a language model see it from there?
// hint: TransformerEncoder encoder{{*this, "encoder"}, sizes()}; gives states (B, 10, 32). What makes 21
//   logits of each?
// hint: Linear output{{*this, "output"}, 32, kWords}; then make width and hidden smaller, or tie
//   output.weight to encoder.input.words.weight, and look at the share that is found.
//
// start: A language model is causal: each place sees what stands left of it. The translation of a word of
//   the first half stands right of it, so there it guesses, and only the second half is found. An encoder
//   reads in both directions.
//
// wrong: Two layers are more than this task needs, and break the budget.
// - options.layers = 1;
// + options.layers = 2;
// wrong: With a rate of 0.0001 the model has not finished learning after 600 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a rate of 0.5 each step jumps far past where the gradient points to.
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
  Indices words, answers;  // answers: −1 where nothing is hidden
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

/// Of the hidden words of one half, in per cent.
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
  judge.claim("keeps to the budget", [&] { judge.between(weights, 1, 15000, "the weights"); });
  judge.claim("gives logits for each place", [&] {
    judge.same(model(draw(judge.random(), dictionary, 3).words).shape(), {3, 2 * kPairs, kWords},
               "the logits' shape");
  });
  judge.claim("finds hidden words", [&] {
    Adam adam(model.parameters(), {.learning_rate = kLearningRate});
    for (Size step = 1; step <= kSteps; ++step) {
      const double part = static_cast<double>(step) / kSteps;
      const Texts texts = draw(judge.random(), dictionary, kRows);
      Tape tape;
      tape.backward(cross_entropy(model(texts.words), texts.answers));
      clip_gradients(model.parameters(), 1.0);
      adam.step(std::min(20 * part, 0.02 + std::cos(std::numbers::pi / 2 * part)));  // warm-up, then it falls
    }
    model.eval();
    const Texts texts = draw(judge.random(), dictionary, kTests);
    const Ids said = argmax(model(texts.words)).to_vector(), wanted = texts.answers.to_vector();
    const double first = found(said, wanted, false), second = found(said, wanted, true);
    judge.that(first >= 95 && second >= 95,
               fmt::format("{} weights find {:.1f} % of the hidden words in the first half, {:.1f} % in the "
                           "second; 95 % are wanted in both",
                           weights, first, second),
               {first, second});
    fmt::print("{} weights find {:.1f} and {:.1f} % of the hidden words.\n", weights, first, second);
    judge.score(weights, "weights");
  });
}
