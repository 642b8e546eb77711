// 13.4 few_reads: Undoing a doubling with few key reads
// design, 30 minutes, limit 60 s, fast
//
// Build a model that is given "kkeeyyss" and writes "keys". It is trained for 1,500 steps on batches of 32
// sequences of 4 to 8 letters, by Adam with your learning rate. After that, it must write at least 90 % of the
// sequences of 8 letters correctly.
//
// The model has two budgets. For each letter, it may read at most 5 of the 16 keys on average; a key is read if
// its weight is not 0. And it may have at most 5,000 weights. Fewer weights are better: the grader keeps your
// best model.
//
//     source (B, 2 n) holds n letters, each twice; the decoder's input is <start> n times; logits (B, n, 9)
//
// The symbols are 0 padding, 1 <start>, 2 <end>, and the letters 3 … 8. As in the chapter, keys and values are
// embeddings alone, and the decoder is told the length of the source. You may change all the code between the
// lines with ↓ and ↑.
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

// hint: The window of local-m moves by one place per letter. By how many places do the letters move?
// hint: local_p(D, kHidden, U) predicts the position of the window. Its W_p has the shape (U, kHidden). How
//   many keys are in the window if D = 2 and p is not a whole number?
// hint: local_p(2, kHidden, 8) learns the task. Then make kEmbedding, kHidden and U smaller, one at a time, and
//   watch the fraction of correct sequences. A GRU with `in` inputs and H units has 3 H (in + H + 2) weights.
//
// start: The window of local-m moves by one place per letter, but the letters move by two places. For the
//   fourth letter and all later ones, the letter to write is outside the window. How could the window's
//   position depend on something other than t?
//
// wrong: The window holds the whole source. Every letter is in the window, but the model reads nearly all keys.
// - const Local kWindow = local_p(2, kHidden, 8);
// + const Local kWindow = local_p(16, kHidden, 8);
// wrong: With D = 4, about eight keys are in the window, and the model may read only five.
// - const Local kWindow = local_p(2, kHidden, 8);
// + const Local kWindow = local_p(4, kHidden, 8);
// wrong: The sizes from lesson 13 are larger than six letters need.
// - constexpr Size kEmbedding = 8, kHidden = 16;
// + constexpr Size kEmbedding = 32, kHidden = 32;
// wrong: With a learning rate of 0.0001, the window has hardly begun to move after 1,500 steps.
// - constexpr double kLearningRate = 0.005;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a learning rate of 0.5, p moves to an end of the source. The sigmoid is flat there, so p hardly
//   changes any more.
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

/// Returns the fraction of sequences in which every letter is right, in per cent.
double right_texts(const Tensor& logits, const Texts& texts) {
  const std::vector<std::int64_t> said = argmax(logits).to_vector(), wanted = texts.answers.to_vector();
  double right = 0;
  for (auto row = wanted.begin(), other = said.begin(); row != wanted.end();
       row += kLongest, other += kLongest)
    right += std::equal(row, row + kLongest, other);
  return 100 * right / kTests;
}

/// Returns the mean number of keys per query whose weight is not 0.
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
  judge.claim("stays within the budget of weights",
              [&] { judge.between(weights, 1, 5000, "the number of weights"); });
  const Texts texts = draw(judge.random(), kTests, kLongest);
  train(model, judge.random());
  model.eval();
  const WeightRecorder recorder(model.decoder.attention);
  const Tensor logits = model(texts.source);
  const double right = right_texts(logits, texts), loss = cross_entropy(logits, texts.answers).item(),
               read = reads(recorder.weights());
  judge.claim("reads few keys", [&] { judge.between(read, 0, 5, "keys read per letter"); });
  judge.claim("writes sequences of 8 letters", [&] {
    judge.that(
        right >= 90,
        fmt::format(
            "the model with {} weights reads {:.1f} keys per letter and writes {:.1f} % of the sequences "
            "correctly, but at least 90 % must be correct; the loss per letter is {:.3f}",
            weights, read, right, loss),
        {right, loss});
    fmt::print(
        "The model with {} weights reads {:.1f} keys per letter and writes {:.1f} % of the sequences correctly.\n",
        weights, read, right);
    judge.score(weights, "weights");
  });
}
