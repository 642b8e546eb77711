// 13.4 few_reads: undo a doubling with few key reads
// design, 30 minutes, limit 60 s, fast
//
// Build a model that reads "kkeeyyss" and writes "keys". It is trained with 1,500 batches of 32 texts of 4 to
// 8 letters, by Adam with your learning rate, and must then write 9 of 10 texts of 8 letters right. For each
// letter it may read 5 of the 16 keys on average: a key is read where its weight is not 0. Fewer weights are
// better: your best model is kept, and it may have at most 5,000.
//
//     source (B, 2 n) holds letters, each twice; the decoder hears <start> n times; logits (B, n, 9)
//
// Symbols are 0 padding, 1 <start>, 2 <end>, and the letters 3 … 8. As in the chapter keys and values are
// embeddings alone, and the decoder is told how long the source is. Change whatever you like in the hole.
#include "lessons/grader/answer.hpp"
#include "nn/attention/weight_recorder.hpp"
#include "nn/seq2seq/seq2seq.hpp"

constexpr Size kVocabulary = 9, kLongest = 8;

//[ the sizes, the window, and how fast it learns
//: constexpr Size kEmbedding = 8, kHidden = 16;
//: const Local kWindow = local_m(2);
//: constexpr double kLearningRate = 0.005;
constexpr Size kEmbedding = 8, kHidden = 16;
const Local kWindow = local_p(2, kHidden, 8);  // predicted: it can move by two places a letter
constexpr double kLearningRate = 0.005;
//]

struct Undoubler : Module {
  Tensor operator()(const Indices& source) const {
    const Size batch = source.shape()[0], letters_out = source.shape()[1] / 2;
    const Tensor told = full({batch, kEmbedding}, static_cast<double>(letters_out) / kLongest);
    const std::vector<std::int64_t> ticks(static_cast<std::size_t>(batch * letters_out), 1);
    return decoder(Indices(ticks, {batch, letters_out}), {letters(source), {told}, {}});
  }

  Embedding letters{{*this, "letters"}, kVocabulary, kEmbedding};
  LuongDecoder decoder{{*this, "decoder"},
                       {.states = kEmbedding, .final = kEmbedding},
                       {.vocabulary = kVocabulary,
                        .embedding = kEmbedding,
                        .hidden = kHidden,
                        .readout = kHidden,
                        .score = general(kHidden, kEmbedding),
                        .attend = {.local = kWindow},
                        .input_feeding = false}};
};

// hint: The window of local-m moves by one place a letter. By how many do the letters move?
// hint: local_p(D, kHidden, U) predicts where it stands: W_p is (U, kHidden). How many keys does it show with
//   D = 2, if p is not a whole number?
// hint: local_p(2, kHidden, 8) learns it. Then make kEmbedding, kHidden and U smaller, one after the other,
//   and look at the share of right texts. A GRU with in inputs and H units has 3 H (in + H + 2) weights.
//
// start: The window of local-m moves by one place a letter, and the letters by two: from the fourth letter on
//   what has to be written is out of sight. Who can say where the window stands, if not the number t?
//
// wrong: A window that holds the whole source keeps every letter in sight, but it reads nearly all the keys.
// - const Local kWindow = local_p(2, kHidden, 8);
// + const Local kWindow = local_p(16, kHidden, 8);
// wrong: With D = 4 about eight keys are in the window, and five may be read.
// - const Local kWindow = local_p(2, kHidden, 8);
// + const Local kWindow = local_p(4, kHidden, 8);
// wrong: The sizes of lesson 13 are more than six letters need.
// - constexpr Size kEmbedding = 8, kHidden = 16;
// + constexpr Size kEmbedding = 32, kHidden = 32;
// wrong: With a rate of 0.0001 the window has hardly begun to move after 1,500 steps.
// - constexpr double kLearningRate = 0.005;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a rate of 0.5 p runs to an end of the source, where the sigmoid is flat and holds it.
// - constexpr double kLearningRate = 0.005;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

constexpr std::int64_t kFirstLetter = 3;
constexpr Size kRows = 32, kShortest = 4, kSteps = 1500, kTests = 200;

struct Texts {
  Indices source, answers;  // (B, 2 n), (B, n)
};

Texts draw(kit::Random& random, Size rows, Size length) {
  std::vector<std::int64_t> source, answers;
  for (Size i = 0; i < rows * length; ++i) {
    answers.push_back(kFirstLetter + random.below(kVocabulary - kFirstLetter));
    source.insert(source.end(), {answers.back(), answers.back()});
  }
  return {Indices(source, {rows, 2 * length}), Indices(answers, {rows, length})};
}

void train(Undoubler& model, kit::Random& random) {
  grader::train(model.parameters(), kLearningRate, kSteps, [&] {
    const Texts texts = draw(random, kRows, random.between(kShortest, kLongest));
    return cross_entropy(model(texts.source), texts.answers);
  });
}

/// Rows that are right as a whole, in per cent.
double right_texts(const Tensor& logits, const Texts& texts) {
  const std::vector<std::int64_t> said = argmax(logits).to_vector(), wanted = texts.answers.to_vector();
  double right = 0;
  for (auto row = wanted.begin(), other = said.begin(); row != wanted.end();
       row += kLongest, other += kLongest)
    right += std::equal(row, row + kLongest, other);
  return 100 * right / kTests;
}

/// Keys whose weight is not 0, for each query.
double reads(const std::vector<Tensor>& weights) {
  double read = 0, queries = 0;
  for (const Tensor& one : weights) {
    for (const double weight : one.to_vector()) read += weight > 0 ? 1 : 0;
    queries += static_cast<double>(one.size(0) * one.size(1));
  }
  return read / queries;
}

}  // namespace

void judge(Judge& judge) {
  Undoubler model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("keeps to the budget of weights", [&] { judge.between(weights, 1, 5000, "the weights"); });
  const Texts texts = draw(judge.random(), kTests, kLongest);
  train(model, judge.random());
  model.eval();
  const WeightRecorder recorder(model.decoder.attention);
  const Tensor logits = model(texts.source);
  const double right = right_texts(logits, texts), loss = cross_entropy(logits, texts.answers).item(),
               read = reads(recorder.weights());
  judge.claim("reads few keys", [&] { judge.between(read, 0, 5, "keys read for a letter"); });
  judge.claim("writes texts of 8 letters", [&] {
    judge.that(right >= 90,
               fmt::format("{} weights and {:.1f} keys for a letter write {:.1f} % of the texts right, of "
                           "which 90 % are wanted; the loss of a letter is {:.3f}",
                           weights, read, right, loss),
               {right, loss});
    fmt::print("{} weights and {:.1f} keys for a letter write {:.1f} % of the texts right.\n", weights, read,
               right);
    judge.score(weights, "weights");
  });
}
