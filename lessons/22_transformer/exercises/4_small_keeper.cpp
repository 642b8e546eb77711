// 22.4 small_keeper: Keep names with few weights
// design, 30 minutes, limit 60 s, fast
//
// This is a smaller version of the task in section 6 of the lesson. A source consists of 14 things of 6 kinds,
// and each kind has 4 names. The first name of a kind is random, and this name must be kept. Build a model that
// keeps 95 % of the names that were chosen before, with at most 50,000 weights.
//
//     things (B, 14): 4 … 9       fed (B, 14): 1 for <start>, then all names except the last, 4 … 27
//     logits (B, 14, 28) for the names
//
// The model is trained on 800 batches of 32 texts with Adam. Your learning rate is the highest one of the
// schedule. Fewer weights are better, and your model with the fewest weights is saved. You may change all the
// code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "nn/transformer/transformer.hpp"

constexpr Size kThingWords = 10, kNameWords = 28;

//[ the model and its learning rate
//: constexpr Size kWidth = 32;
//:
//: TransformerOptions stack_of(Size words) {
//:   TransformerOptions options;
//:   options.vocabulary = words;
//:   options.layers = 1;
//:   options.block = {.width = kWidth, .heads = 4, .hidden = 2 * kWidth, .activation = Activation::relu};
//:   return options;
//: }
//:
//: struct Keeper : Module {
//:   Tensor operator()(const Indices& things, const Indices& fed) const { return model(things, {}, fed); }
//:
//:   Seq2Seq<BahdanauDecoder, TransformerEncoder> model{
//:       {*this, "model"},
//:       {stack_of(kThingWords),
//:        {.vocabulary = kNameWords, .embedding = 8, .hidden = 8, .attention = kWidth, .readout = kWidth}}};
//: };
//: constexpr double kLearningRate = 0.006;
constexpr Size kWidth = 32;

TransformerOptions stack_of(Size words) {
  TransformerOptions options;
  options.vocabulary = words;
  options.layers = 1;
  options.positions = sinusoidal();
  options.block = {.width = kWidth, .heads = 4, .hidden = 2 * kWidth, .activation = Activation::relu};
  return options;
}

struct Keeper : Module {
  Tensor operator()(const Indices& things, const Indices& fed) const { return model(things, {}, fed); }

  // The decoder attends to all names that were written, so no state has to hold them.
  TransformerTranslator model{{*this, "model"}, {stack_of(kThingWords), stack_of(kNameWords)}};
};
constexpr double kLearningRate = 0.006;
//]

// hint: When a kind occurs again, where has its name been written? Which decoder can attend to that place, and
//   which one must hold all names in one state?
// hint: TransformerTranslator model{{*this, "model"}, {stack_of(kThingWords), stack_of(____)}};
// hint: Then reduce .hidden and kWidth, one after the other (the number of heads must divide the width), and
//   check the percentage of names that are kept.
//
// start: The recurrent decoder must hold the names of six kinds in a state of 8 numbers. A wider state helps to
//   some degree. A decoder that attends to its own output can find all earlier names there.
//
// wrong: The width of the lesson, 64, is more than this task needs, and the model has too many weights.
// - constexpr Size kWidth = 32;
// + constexpr Size kWidth = 64;
// wrong: Without positions, the model does not know the order of the things, so the decoder cannot find out
//   which thing is next.
// - options.positions = sinusoidal();
// + options.positions = {};
// wrong: With a learning rate of 0.0001 the model has not finished learning after 800 steps.
// - constexpr double kLearningRate = 0.006;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a learning rate of 0.2 the steps are far too large, so the model does not learn the task.
// - constexpr double kLearningRate = 0.006;
// + constexpr double kLearningRate = 0.2;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "nn/loss.hpp"
#include "optim/clip.hpp"

namespace {

constexpr Size kThings = 14, kKinds = 6, kNames = 4, kRows = 32, kSteps = 800, kTests = 200;
constexpr std::int64_t kFirst = 4;

struct Texts {
  Indices things, fed, names, known;  // known: −1 where a kind occurs for the first time
};

Texts draw(kit::Random& random, Size rows) {
  std::vector<std::int64_t> things, fed, names, known;
  for (Size row = 0; row < rows; ++row) {
    std::vector<std::int64_t> name(kKinds, -1);
    std::int64_t last = 1;
    for (Size t = 0; t < kThings; ++t) {
      const std::int64_t kind = random.below(kKinds);
      std::int64_t& its = name[static_cast<std::size_t>(kind)];
      const bool first = its < 0;
      if (first) its = kFirst + kind * kNames + random.below(kNames);
      things.push_back(kFirst + kind);
      fed.push_back(last);
      names.push_back(last = its);
      known.push_back(first ? -1 : its);
    }
  }
  const auto table = [rows](const std::vector<std::int64_t>& ids) { return Indices(ids, {rows, kThings}); };
  return {table(things), table(fed), table(names), table(known)};
}

void train(Keeper& model, kit::Random& random) {
  Adam adam(model.parameters(), {.learning_rate = kLearningRate});
  for (Size step = 1; step <= kSteps; ++step) {
    const double part = static_cast<double>(step) / kSteps;
    const Texts texts = draw(random, kRows);
    Tape tape;
    tape.backward(cross_entropy(model(texts.things, texts.fed), texts.names));
    clip_gradients(model.parameters(), 1.0);
    adam.step(std::min(20 * part, 0.02 + std::cos(std::numbers::pi / 2 *
                                                  part)));  // warm-up, then a decreasing learning rate
  }
}

}  // namespace

void judge(Judge& judge) {
  Keeper model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("has at most 50,000 weights",
              [&] { judge.between(weights, 1, 50000, "the number of weights"); });
  judge.claim("returns logits for each name", [&] {
    const Texts texts = draw(judge.random(), 3);
    judge.same(model(texts.things, texts.fed).shape(), {3, kThings, kNameWords}, "the logits");
  });
  judge.claim("computes logits that do not depend on later names", [&] {
    const Texts texts = draw(judge.random(), 2);
    std::vector<std::int64_t> other = texts.fed.to_vector();
    for (std::size_t row = 0; row < 2; ++row)
      for (std::size_t t = 8; t < kThings; ++t) other[row * kThings + t] = kFirst;
    model.eval();
    const auto early = [&](const Indices& fed) {
      return slice(model(texts.things, fed), 1, 0, 8).to_vector();
    };
    judge.same(early(Indices(other, {2, kThings})), early(texts.fed), "the first eight logits");
    model.train();
  });
  judge.claim("keeps at least 95 % of the names", [&] {
    train(model, judge.random());
    model.eval();
    const Texts texts = draw(judge.random(), kTests);
    const Tensor logits = model(texts.things, texts.fed);
    const std::vector<std::int64_t> said = argmax(logits).to_vector(), known = texts.known.to_vector();
    double kept = 0, all = 0;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] < 0) continue;
      ++all;
      kept += said[i] == known[i];
    }
    kept *= 100 / all;
    const double loss = cross_entropy(logits, texts.names).item();
    judge.that(kept >= 95,
               fmt::format("with {} weights, {:.1f} % of the names are kept, but at least 95 % are required; "
                           "the mean loss of a name is {:.3f}",
                           weights, kept, loss),
               {kept, loss});
    fmt::print("With {} weights, {:.1f} % of the names are kept; the mean loss of a name is {:.3f}.\n",
               weights, kept, loss);
    judge.score(weights, "weights");
  });
}
