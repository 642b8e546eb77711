// 29.4 small_copier: copy without going in circles, with few weights
// design, 25 minutes, limit 60 s, fast
//
// Texts of 10 words, out of 20 different ones and with some that come again, are to be copied by a reader whose query is
// the word before and nothing else. A key is made of its word, the word before it, and its place. It is trained with 500
// batches of 32 texts, by Adam with your learning rate, and must have 95 of 100 words right in new texts, where it goes
// on from its own words. Fewer weights are better: your best model is kept, and it may have at most 3,000.
//
// Change whatever you like in the hole.
#include "lessons/grader/answer.hpp"
#include "nn/attention/pointing/coverage.hpp"
#include "nn/embedding.hpp"

constexpr Size kWords = 20, kPlaces = 10;

//[ the sizes, what the score is told, and how fast it learns
//: constexpr Size kWidth = 24, kHidden = 24;
//: constexpr Coverage kCoverage = Coverage::no;
//: constexpr double kCoverageLoss = 1, kLearningRate = 0.01;
constexpr Size kWidth = 8, kHidden = 12;
constexpr Coverage kCoverage = Coverage::yes;  // only c knows where it was
constexpr double kCoverageLoss = 0, kLearningRate = 0.02;
//]

struct Copier : Module {
  /// Weights (B, T, S) for queries, the words before (B, T), and keys of the source (B, S) and of the words before it.
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

// hint: Write down what the score sees at the second "the" of a text, and at the first. What differs?
// hint: Coverage::yes tells the score what has been looked at. Then make kWidth and kHidden smaller, one after the other.
// hint: A word has kWidth weights, and a hidden unit kWidth + (2 kWidth + 1) + 2. Which of the two sizes costs more?

// start: At a word that comes again, query and keys are what they were the first time, so the reader goes where it went.
//   What could the score be told?

// wrong: Without coverage in the score the reader goes in circles, whatever the loss asks for.
// - constexpr Coverage kCoverage = Coverage::yes;
// + constexpr Coverage kCoverage = Coverage::no;
// wrong: The loss asks the reader not to look twice at a place, louder now, but the score still cannot know where it was.
// - constexpr Coverage kCoverage = Coverage::yes;
// - constexpr double kCoverageLoss = 0, kLearningRate = 0.02;
// + constexpr Coverage kCoverage = Coverage::no;
// + constexpr double kCoverageLoss = 10, kLearningRate = 0.02;
// wrong: These sizes are more than twenty words need.
// - constexpr Size kWidth = 8, kHidden = 12;
// + constexpr Size kWidth = 32, kHidden = 48;
// wrong: One hidden unit is too few: a word and a place have to be compared, and coverage heeded.
// - constexpr Size kWidth = 8, kHidden = 12;
// + constexpr Size kWidth = 8, kHidden = 1;
// wrong: With a rate of 0.0001 the reader has hardly learned anything after 500 steps.
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

/// Texts (count, kPlaces) of seven different words each, none twice in a row.
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

/// The chances of all words, (B, kWords).
Tensor chances(const Tensor& weights, const Indices& texts) {
  const Size batch = texts.shape()[0];
  return scatter_add(zeros({batch, kWords}), 1, texts, reshape(weights, {batch, kPlaces}));
}

}  // namespace

void judge(Judge& judge) {
  Copier model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("keeps to the budget of weights", [&] { judge.between(weights, 1, 3000, "the weights"); });
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
    judge.that(
        right >= 95,
        fmt::format("{} weights write {:.1f} % of the words right, of which 95 % are wanted", weights, right),
        {right});
    fmt::print("{} weights write {:.1f} % of the words right.\n", weights, right);
    judge.score(weights, "weights");
  });
}
