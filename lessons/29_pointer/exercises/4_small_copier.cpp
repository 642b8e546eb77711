// 29.4 small_copier: A small copier with coverage
// design, 25 minutes, limit 60 s, fast
//
// Build a decoder that copies texts of 10 words. Each text is drawn from 20 different words, and some words are
// repeated. The query is the previous word and nothing else. The key of a position contains its word, the word before
// it, and the position.
//
// You choose the width of the word vectors (kWidth), the hidden units of the score (kHidden), whether the coverage is
// an input of the score (kCoverage), the weight of the coverage loss, and the learning rate.
//
// The decoder is trained with Adam on 500 batches of 32 texts. Then it copies new texts, where its query is the word
// that it wrote before. 95 of 100 words must be right. Fewer parameters are better. You may use at most 3,000. Your
// best model is kept, and the result to beat is 492.
//
// You may change all the code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/attention/pointing/coverage.hpp"
#include "nn/embedding.hpp"

constexpr Size kWords = 20, kPlaces = 10;

//[ the sizes, what the score is told, and how fast it learns
//: constexpr Size kWidth = 24, kHidden = 24;
//: constexpr Coverage kCoverage = Coverage::no;
//: constexpr double kCoverageLoss = 1, kLearningRate = 0.01;
constexpr Size kWidth = 8, kHidden = 12;
constexpr Coverage kCoverage = Coverage::yes;  // only c says where the decoder has been
constexpr double kCoverageLoss = 0, kLearningRate = 0.02;
//]

struct Copier : Module {
  /// Returns weights (B, T, S). The queries are the previous words (B, T). The keys are made of the source (B, S) and
  /// the words before each position.
  AttentionOutput step(const Indices& before, const PreparedKV& memory, ScoreState& state) const {
    return attention(unsqueeze(words(before), 1), memory, state);
  }
  PreparedKV read(const Indices& source, const Indices& before) const {
    const Size batch = source.shape()[0], length = source.shape()[1];
    const Tensor places = reshape(arange(0, static_cast<double>(length)) / 8.0, {1, length, 1});
    const Tensor here = words(source);
    return attention.prepare(concat({words(before), here, expand(places, {batch, length, 1})}, -1), here);
  }

  Embedding words{{*this, "words"}, kWords + 1, kWidth};
  Attention attention{{*this, "attention"}, additive(kWidth, 2 * kWidth + 1, kHidden, kCoverage)};
};

// hint: Suppose that a word occurs twice in a text. Write down the inputs of the score after its first occurrence and
//   after the second. What is different?
// hint: Coverage::yes adds the weights so far to the score's inputs. Then make kWidth and kHidden smaller, one at a
//   time.
// hint: A word has kWidth parameters, and a hidden unit has kWidth + (2 kWidth + 1) + 2. Which of the two sizes costs
//   more?

// start: After a repeated word, the query and the keys are the same as the first time, so the decoder attends to the
//   same position. Which further input does the score need?

// wrong: Without coverage in the score, the decoder goes in circles, whatever the loss is.
// - constexpr Coverage kCoverage = Coverage::yes;
// + constexpr Coverage kCoverage = Coverage::no;
// wrong: A larger coverage loss does not help, because the score still does not receive the coverage.
// - constexpr Coverage kCoverage = Coverage::yes;
// - constexpr double kCoverageLoss = 0, kLearningRate = 0.02;
// + constexpr Coverage kCoverage = Coverage::no;
// + constexpr double kCoverageLoss = 10, kLearningRate = 0.02;
// wrong: These sizes are larger than twenty words need.
// - constexpr Size kWidth = 8, kHidden = 12;
// + constexpr Size kWidth = 32, kHidden = 48;
// wrong: One hidden unit is too few. The score must compare the word and the position, and respond to the coverage.
// - constexpr Size kWidth = 8, kHidden = 12;
// + constexpr Size kWidth = 8, kHidden = 1;
// wrong: With a learning rate of 0.0001, the decoder has hardly learned anything after 500 steps.
// - constexpr double kCoverageLoss = 0, kLearningRate = 0.02;
// + constexpr double kCoverageLoss = 0, kLearningRate = 0.0001;

//= judge
#include <fmt/format.h>

#include <numeric>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

using Ids = std::vector<std::int64_t>;

/// Draws texts (count, kPlaces). Each has up to seven different words, and no word follows itself.
Indices draw(kit::Random& random, Size count) {
  Ids all(static_cast<std::size_t>(kWords)), texts;
  std::iota(all.begin(), all.end(), std::int64_t{0});
  for (Size row = 0; row < count; ++row) {
    random.shuffle(all);
    std::int64_t word = random.below(7);
    for (Size t = 0; t < kPlaces; ++t) {
      texts.push_back(all[static_cast<std::size_t>(word)]);
      word = (word + random.between(1, 6)) % 7;
    }
  }
  return Indices(texts, {count, kPlaces});
}

Indices shifted(const Indices& texts) {
  const Ids ids = texts.to_vector();
  Ids before;
  for (std::size_t i = 0; i < ids.size(); ++i) before.push_back(i % kPlaces == 0 ? kWords : ids[i - 1]);
  return Indices(before, texts.shape());
}

/// Returns the probabilities of all words, (B, kWords).
Tensor chances(const Tensor& weights, const Indices& texts) {
  const Size batch = texts.shape()[0];
  return scatter_add(zeros({batch, kWords}), 1, texts, reshape(weights, {batch, kPlaces}));
}

}  // namespace

void judge(Judge& judge) {
  Copier model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("stays within the budget of parameters",
              [&] { judge.between(weights, 1, 3000, "parameters"); });
  grader::train(model.parameters(), kLearningRate, 500, [&] {
    const Indices texts = draw(judge.random(), 32), before = shifted(texts);
    const PreparedKV memory = model.read(texts, before);
    ScoreState state;
    Tensor loss = scalar(0);
    std::vector<Tensor> rows;
    for (Size t = 0; t < kPlaces; ++t) {
      rows.push_back(model.step(before.column(t), memory, state).weights);
      const Tensor right = gather(chances(rows.back(), texts), 1, texts.columns(t, t + 1));
      loss = loss - mean(log(clamp(right, 1e-6, 2)));
    }
    return loss / static_cast<double>(kPlaces) + kCoverageLoss * mean(coverage_loss(concat(rows, 1)));
  });
  const Indices texts = draw(judge.random(), 300);
  const PreparedKV memory = model.read(texts, shifted(texts));
  ScoreState state;
  Indices word(Ids(300, kWords), {300});
  double right = 0;
  for (Size t = 0; t < kPlaces; ++t) {
    word = argmax(chances(model.step(word, memory, state).weights, texts));
    right += kit::percent_equal(word, texts.column(t)) / kPlaces;
  }
  judge.claim("copies without going in circles", [&] {
    judge.that(right >= 95,
               fmt::format("{} parameters write {:.1f} % of the words correctly; the target is 95 %", weights,
                           right),
               {right});
    fmt::print("{} parameters write {:.1f} % of the words correctly.\n", weights, right);
    judge.score(weights, "parameters");
  });
}
