// 11.4 small_reverser: A small model that reverses strings
// design, 30 minutes, limit 60 s, fast
//
// Build a model with at most 4,000 weights that writes strings of 3 to 8 letters backwards. The judge trains your
// model on 500 batches of 32 strings, with teacher forcing, Adam and your learning rate. Then your model must
// reverse at least 90 % of 200 strings of 8 letters, in free decoding. Your result is the number of weights: the
// fewer, the better. The program keeps your best model.
//
// The target y is the reversed string followed by <end>, so it has n = T + 1 symbols. There are nine symbols: 0 is
// padding, 1 is <start>, 2 is <end>, and 3 to 8 are six letters.
//
//     source (B, T) holds letters; fed (B, n) is <start> y_1 … y_{n−1}; logits (B, n, 9) are for y_1 … y_n
//
// The model must learn the reversal: a model whose code reverses the string does not pass. To detect such code, the
// judge checks that each source letter can affect the logits of each output letter.
//
// The given code uses the library's PlainTranslator, whose decoder receives one vector. The library also has
// Translator, whose decoder attends to all encoder states. Translator has a bidirectional encoder. Its decoder has
// one more option, .attention, the number of hidden units of the score. The default of .embedding, .hidden,
// .attention and .readout is 256, which is too large for the budget, so set each of them. You may change all the
// code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/seq2seq/seq2seq.hpp"

constexpr Size kVocabulary = 9;

//[ the model and its learning rate
//: struct Reverser : Module {
//:   Tensor operator()(const Indices& source, const Indices& fed) const { return model(source, {}, fed); }
//:
//:   PlainTranslator model{{*this, "model"},
//:                         {{.vocabulary = kVocabulary, .embedding = 12, .hidden = 12},
//:                          {.vocabulary = kVocabulary, .embedding = 12, .hidden = 12, .readout = 12}}};
//: };
//: constexpr double kLearningRate = 0.01;
struct Reverser : Module {
  Tensor operator()(const Indices& source, const Indices& fed) const { return model(source, {}, fed); }
  Translator model{
      {*this, "model"},
      {{.vocabulary = kVocabulary, .embedding = 8, .hidden = 10},  // in each direction
       {.vocabulary = kVocabulary, .embedding = 8, .hidden = 12, .attention = 8, .readout = 12}}};
};
constexpr double kLearningRate = 0.02;  // small models tolerate large steps
//]

// hint: The given decoder receives the source as a single vector. What does the decoder in this lesson use in place of
//   that vector?
// hint: Replace PlainTranslator with Translator, which uses attention. Which parts of Translator have the most
//   weights? A GRU with `in` inputs and H units has 3 H (in + H + 2) weights and biases.
// hint: Nine symbols don't need wide embeddings, and a decoder that attends doesn't have to store the whole string in
//   its state. Halve .embedding, .hidden, .attention and .readout, one after the other, and watch the percentage of
//   right strings.
//
// start: Without attention, all letters have to pass through one vector. In 500 steps, the model doesn't learn to store
//   eight letters in this vector. More units don't help much, but attention does.
//
// wrong: The model with the sizes from lesson 11 has more than 4,000 weights. Nine symbols need smaller sizes. Which
//   parts have the most weights?
// - {{.vocabulary = kVocabulary, .embedding = 8, .hidden = 10},  // in each direction
// - {.vocabulary = kVocabulary, .embedding = 8, .hidden = 12, .attention = 8, .readout = 12}}};
// + {{.vocabulary = kVocabulary, .embedding = 32, .hidden = 32},
// + {.vocabulary = kVocabulary, .embedding = 32, .hidden = 64, .attention = 64, .readout = 64}}};
// wrong: Your code reverses the string itself. The model must learn the reversal from the training strings.
// - Tensor operator()(const Indices& source, const Indices& fed) const { return model(source, {}, fed); }
// - Translator model{
// - {*this, "model"},
// - {{.vocabulary = kVocabulary, .embedding = 8, .hidden = 10},  // in each direction
// - {.vocabulary = kVocabulary, .embedding = 8, .hidden = 12, .attention = 8, .readout = 12}}};
// + Tensor operator()(const Indices& source, const Indices& fed) const {
// + const std::vector<std::int64_t> letters = source.to_vector();
// + const Size rows = source.shape()[0], length = source.shape()[1], steps = fed.shape()[1];
// + std::vector<std::int64_t> read;
// + for (Size row = 0; row < rows; ++row)
// + for (Size t = 0; t < steps; ++t)
// + read.push_back(t < length ? letters[static_cast<std::size_t>(row * length + length - 1 - t)] : 2);
// + return table(Indices(read, {rows, steps}));
// + }
// +
// + Embedding table{{*this, "table"}, kVocabulary, kVocabulary};
// wrong: With a learning rate of 0.001, this small model is still learning after 500 steps.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.001;
// wrong: With a learning rate of 0.5, the steps are much too large and saturate the gates.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t kStart = 1, kEnd = 2, kFirstLetter = 3;
constexpr Size kRows = 32, kShortest = 3, kLongest = 8, kSteps = 500, kTests = 200;

struct Strings {
  Indices source, fed, wanted;  // (B, T), (B, T + 1), (B, T + 1)
};

Strings draw(kit::Random& random, Size rows, Size length) {
  Ids source, fed, wanted;
  for (Size row = 0; row < rows; ++row) {
    Ids letters;
    for (Size i = 0; i < length; ++i)
      letters.push_back(kFirstLetter + random.below(kVocabulary - kFirstLetter));
    source.insert(source.end(), letters.begin(), letters.end());
    fed.push_back(kStart);
    fed.insert(fed.end(), letters.rbegin(), letters.rend());
    wanted.insert(wanted.end(), letters.rbegin(), letters.rend());
    wanted.push_back(kEnd);
  }
  return {Indices(source, {rows, length}), Indices(fed, {rows, length + 1}),
          Indices(wanted, {rows, length + 1})};
}

void train(Reverser& model, kit::Random& random) {
  grader::train(model.parameters(), kLearningRate, kSteps, [&] {
    const Strings strings = draw(random, kRows, random.between(kShortest, kLongest));
    return cross_entropy(model(strings.source, strings.fed), strings.wanted);
  });
}

/// Returns the percentage of strings that are completely right in free decoding, where each output symbol is fed back.
double right_alone(const Reverser& model, const Strings& strings) {
  std::vector<Ids> said(kTests, Ids{kStart});
  for (Size t = 0; t <= kLongest; ++t) {
    Ids fed;
    for (const Ids& row : said) fed.insert(fed.end(), row.begin(), row.end());
    const Ids next = argmax(select(model(strings.source, Indices(fed, {kTests, t + 1})), 1, t)).to_vector();
    for (std::size_t row = 0; row < said.size(); ++row) said[row].push_back(next[row]);
  }
  const Ids wanted = strings.wanted.to_vector();
  double right = 0;
  for (std::size_t row = 0; row < said.size(); ++row)
    right += std::equal(said[row].begin() + 1, said[row].end(),
                        wanted.begin() + static_cast<std::ptrdiff_t>(row) * (kLongest + 1));
  return 100 * right / kTests;
}

}  // namespace

void judge(Judge& judge) {
  Reverser model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("keeps to the budget", [&] { judge.between(weights, 1, 4000, "the weights"); });
  judge.claim("returns logits for each symbol that is fed", [&] {
    const Strings strings = draw(judge.random(), 3, 4);
    judge.same(model(strings.source, strings.fed).shape(), {3, 5, kVocabulary}, "the logits");
  });
  judge.claim("can use each source letter for each output letter", [&] {
    judge.example("random weights, and a string in which one letter is changed");
    Reverser random;
    random.initialise(1);
    random.eval();
    std::vector<Tensor> weights = random.parameters();
    for (Tensor& weight : weights)
      assign(weight, 0.3 * random_normal(weight.shape(), judge.random().next(), weight.dtype()));
    const Strings strings = draw(judge.random(), 1, 4);
    const Tensor before = random(strings.source, strings.fed);
    for (Size place = 0; place < 4; ++place) {
      Ids letters = strings.source.to_vector();
      std::int64_t& letter = letters[static_cast<std::size_t>(place)];
      letter = letter == kFirstLetter ? kFirstLetter + 1 : kFirstLetter;
      const Tensor change = random(Indices(letters, {1, 4}), strings.fed) - before;
      for (Size t = 0; t < 4; ++t)
        judge.that(
            max(abs(select(change, 1, t))).item() > 0,
            fmt::format(
                "letter {} of the source has no effect on the logits of y_{}, whatever the weights are",
                place + 1, t + 1),
            {static_cast<double>(place), static_cast<double>(t)});
    }
  });
  judge.claim("writes strings of 8 letters backwards", [&] {
    train(model, judge.random());
    model.eval();
    const Strings strings = draw(judge.random(), kTests, kLongest);
    const double loss = cross_entropy(model(strings.source, strings.fed), strings.wanted).item();
    const double right = right_alone(model, strings);
    judge.that(
        right >= 90,
        fmt::format(
            "with {} weights, the model writes {} % of the strings correctly; the target is 90 %. The loss per "
            "symbol under teacher forcing is {:.3f}{}",
            weights, right, loss,
            loss > 1
                ? ". The model has hardly begun to learn: is the learning rate too small or too large, and does the "
                  "context reach the logits?"
                : ""),
        {right, loss});
    fmt::print(
        "With {} weights, the model writes {} % of the strings correctly. The loss per symbol under teacher "
        "forcing is {:.3f}.\n",
        weights, right, loss);
    judge.score(weights, "weights");
  });
}
