// 33.4 small_captioner: A small captioner
// design, 30 minutes, limit 60 s, fast
//
// The pictures are grey, with 12 × 12 pixels in 3 × 3 places. Two places in one row or one column show one of four
// shapes each. The captions are, for example, "ring left of bar" or "dot above cross". They have three words
// ("left of" is one word) and the end.
//
// Choose the sizes, whether the features have position vectors, and the learning rate. The captioner is trained with
// Adam on 1,000 batches of 32 pictures. For 9 of 10 new pictures, every word of the caption must be right. Fewer
// parameters are better. You may use at most 7,000. Your best model is kept, and the result to beat is 6,640.
//
//     pictures (B, 12, 12, 1) → features of the places (B, 9, kFeatures), which the decoder attends to
//
// Change the constants.
#include "lessons/grader/answer.hpp"
#include "nn/seq2seq/bahdanau.hpp"
#include "nn/vision/windows.hpp"

constexpr Size kSide = 12, kPatch = 4, kPlaces = 9, kWords = 8;

//[ five constants
//: constexpr Size kFeatures = 20, kHidden = 24, kEmbedding = 8;
//: constexpr bool kTellPlaces = false;
//: constexpr double kLearningRate = 0.01;
constexpr Size kFeatures = 16, kHidden = 24, kEmbedding = 6;
constexpr bool kTellPlaces = true;  // attention does not depend on the order of the keys
constexpr double kLearningRate = 0.02;
//]

struct Captioner : Module {
  Captioner() {
    if (!kTellPlaces) freeze("places");
  }
  Encoded read(const Tensor& pictures) const {
    const Tensor cut = reshape(patches(pictures, kPatch), {pictures.size(0), kPlaces, kPatch * kPatch});
    const Tensor seen = relu(patch(cut)), features = kTellPlaces ? seen + places : seen;
    return {features, {RecurrentState(mean(features, {1}))}, {}};
  }

  Linear patch{{*this, "patch"}, kPatch* kPatch, kFeatures};
  Parameter places{*this, "places", {kPlaces, kFeatures}, normal(0.5)};
  BahdanauDecoder decoder{{*this, "decoder"},
                          EncodedWidths{kFeatures, kFeatures},
                          {.vocabulary = kWords,
                           .embedding = kEmbedding,
                           .hidden = kHidden,
                           .attention = kHidden,
                           .readout = kHidden,
                           .padding = {}}};
};

// hint: The given captioner cannot know one word of the caption, whatever it learns. Which one?
// hint: "left" and "above" depend on the places of the shapes, but softmax attention does not depend on the order of
//   its keys. Which constant adds the places to the features?
// hint: Then make the sizes smaller. A GRU has 3 kHidden (kEmbedding + kFeatures + kHidden + 2) parameters. Which
//   size counts most?
//
// start: The captioner is too large. And which two pictures are the same for it, whatever its parameters are?
//
// wrong: The sizes are small enough. But without places the captioner cannot know which shape is left of which.
// - constexpr bool kTellPlaces = true;
// + constexpr bool kTellPlaces = false;
// wrong: The sizes from lesson 33 are larger than four shapes need.
// - constexpr Size kFeatures = 16, kHidden = 24, kEmbedding = 6;
// + constexpr Size kFeatures = 48, kHidden = 64, kEmbedding = 16;
// wrong: With two features and four hidden units, the captioner cannot distinguish four shapes and nine places.
// - constexpr Size kFeatures = 16, kHidden = 24, kEmbedding = 6;
// + constexpr Size kFeatures = 2, kHidden = 4, kEmbedding = 2;
// wrong: Your learning rate is too small. With 0.0001, the captioner has hardly learned anything after 1,000 steps.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.0001;
// wrong: Your learning rate is too large. With 0.5, each step overshoots, and the captioner learns nothing.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "nn/loss.hpp"
#include "nn/seq2seq/translator.hpp"

namespace {

enum : std::int64_t { kBegin, kEnd, kFirstShape, kLeft = kFirstShape + 4, kAbove };

struct Pictures {
  Tensor pixels;
  Indices words, next;  // (B, 4)
};

Pictures draw(kit::Random& random, Size count) {
  constexpr std::array<const char*, 4> kStencils{".##.#..##..#.##.", "....########....", ".....##..##.....",
                                                 "#..#.##..##.#..#"};
  std::vector<double> pixels(static_cast<std::size_t>(count * kSide * kSide), 0.0);
  std::vector<std::int64_t> words, next;
  for (Size b = 0; b < count; ++b) {
    const Size line = random.below(3), one = random.below(2), other = random.between(one + 1, 2);
    const bool in_a_row = random.chance(0.5);
    std::array<std::int64_t, 2> shapes{};
    for (std::size_t i = 0; i < 2; ++i) {
      shapes[i] = random.below(4);
      const Size along = i == 0 ? one : other, row = in_a_row ? line : along,
                 column = in_a_row ? along : line;
      for (Size pixel = 0; pixel < kPatch * kPatch; ++pixel) {
        const Size y = row * kPatch + pixel / kPatch, x = column * kPatch + pixel % kPatch;
        if (kStencils[static_cast<std::size_t>(shapes[i])][pixel] == '#')
          pixels[static_cast<std::size_t>((b * kSide + y) * kSide + x)] = 1;
      }
    }
    const std::array<std::int64_t, 5> caption{kBegin, kFirstShape + shapes[0], in_a_row ? kLeft : kAbove,
                                              kFirstShape + shapes[1], kEnd};
    words.insert(words.end(), caption.begin(), caption.end() - 1);
    next.insert(next.end(), caption.begin() + 1, caption.end());
  }
  return {tensor(pixels, {count, kSide, kSide, 1}), Indices(words, {count, 4}), Indices(next, {count, 4})};
}

}  // namespace

void judge(Judge& judge) {
  Captioner model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("stays within the budget of parameters",
              [&] { judge.between(weights, 1, 7000, "parameters"); });
  grader::train(model.parameters(), kLearningRate, 1000, [&] {
    const Pictures batch = draw(judge.random(), 32);
    return cross_entropy(model.decoder(batch.words, model.read(batch.pixels)), batch.next);
  });
  model.eval();
  const Pictures test = draw(judge.random(), 400);
  const double loss = cross_entropy(model.decoder(test.words, model.read(test.pixels)), test.next).item();
  const std::vector<Decoded> written =
      greedy(*detail::begin_search(model, model.decoder, model.read(test.pixels)),
             {.begin = kBegin, .end = kEnd, .max_length = 4});
  double right = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto row = static_cast<Size>(i);
    const std::vector<std::int64_t> wanted = test.next.columns(0, 3).to_vector();
    const auto begin = wanted.begin() + 3 * row;
    right += written[i].ids == std::vector<std::int64_t>(begin, begin + 3) && written[i].ended ? 0.25 : 0;
  }
  judge.claim("writes captions of new pictures", [&] {
    judge.that(
        right >= 90,
        fmt::format("{} parameters write {:.1f} % of the captions correctly; the target is 90 %, and the "
                    "loss is {:.3f}{}",
                    weights, right, loss, kLearningRate < 0.1 ? "" : ". Your learning rate is very large"),
        {right, loss});
    fmt::print("{} parameters write {:.1f} % of the captions correctly.\n", weights, right);
    judge.score(weights, "parameters");
  });
}
