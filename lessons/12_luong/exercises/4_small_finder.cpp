// 12.4 small_finder: A small lookup model
// design, 30 minutes, limit 60 s, fast
//
// Build a model for the lookup task. The source is a list of pairs, each a letter and its digit. The questions are
// the letters in another order, and the answer to each question is the letter's digit.
//
// The judge trains your model on 2,000 batches of 32 lists with 2 to 6 pairs, with Adam and your learning rate. After
// that, it must answer 95 of 100 questions about lists of 8 pairs correctly, with at most 10,000 weights. Fewer
// weights are better, and your smallest model that passes is kept.
//
//     source (B, 2 n) is letter, digit, letter, …; questions (B, n) are letters; logits (B, n, 17)
//
// Symbols are 0 padding, 1 <start>, 2 <end>, the letters 3 … 12, and the digits 13 … 16. You may change all the
// code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/seq2seq/seq2seq.hpp"

constexpr Size kVocabulary = 17;

//[ the model and its learning rate
//: struct Finder : Module {
//:   Tensor operator()(const Indices& source, const Indices& asked) const {
//:     return model(source, {}, asked);
//:   }
//:
//:   LuongTranslator model{{*this, "model"},
//:                         {{.vocabulary = kVocabulary, .embedding = 8, .hidden = 16},
//:                          {.vocabulary = kVocabulary,
//:                           .embedding = 8,
//:                           .hidden = 32,
//:                           .readout = 12,
//:                           .score = location(32, 16),
//:                           .input_feeding = false}}};
//: };
//: constexpr double kLearningRate = 0.005;
struct Finder : Module {
  Tensor operator()(const Indices& source, const Indices& asked) const { return model(source, {}, asked); }

  LuongTranslator model{{*this, "model"},
                        {{.vocabulary = kVocabulary, .embedding = 8, .hidden = 16},  // in each direction
                         {.vocabulary = kVocabulary,
                          .embedding = 8,
                          .hidden = 32,  // as wide as the encoder's states: dot needs no matrix
                          .readout = 12,
                          .score = dot(),
                          .input_feeding = false}}};
};
constexpr double kLearningRate = 0.005;
//]

// hint: In every list, the letters have new positions. Which of the lesson's five scores depend on the contents of
//   the source, and which don't?
// hint: Replace location(32, 16) by a score that compares the query with the keys. One of these scores has no
//   weights. What does it require of the widths of query and key?
// hint: .score = dot() works if the decoder's .hidden is twice the encoder's. Then reduce both, and also .embedding
//   and .readout, one after another, and watch the percentage of right answers.
//
// start: The location score does not depend on the keys. From the question alone, it cannot know where the letter is
//   in this list. A score that compares the query with the keys can find it.
//
// wrong: The fully connected score also depends on the letter of the question, but not on the list. It still computes
//   a position without knowing where the letter is.
// - .score = dot(),
// - .input_feeding = false}}};
// + .score = fully_connected(8, 32, 16),
// + .input_feeding = false,
// + .word_in_query = true}}};
// wrong: Ten letters and four digits need smaller sizes than those of lesson 12. With embeddings of width 32, the
//   table and the gates that use it exceed the budget.
// - {{.vocabulary = kVocabulary, .embedding = 8, .hidden = 16},  // in each direction
// + {{.vocabulary = kVocabulary, .embedding = 32, .hidden = 16},
// wrong: With a learning rate of 0.0001, this small model has not finished learning after 2,000 steps.
// - constexpr double kLearningRate = 0.005;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a learning rate of 0.5, each step goes far past the point where the gradient is valid, and saturates
//   the gates.
// - constexpr double kLearningRate = 0.005;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include <numeric>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t kFirstLetter = 3, kFirstDigit = 13;
constexpr Size kLetters = 10, kDigits = 4;
constexpr Size kRows = 32, kFewest = 2, kMost = 6, kAsked = 8, kSteps = 2000, kTests = 200;

struct Lists {
  Indices source, questions, answers;  // (B, 2 n), (B, n), (B, n)
};

Lists draw(kit::Random& random, Size rows, Size pairs) {
  Ids source, questions, answers;
  for (Size row = 0; row < rows; ++row) {
    Ids letters(kLetters), digits(kLetters);
    std::iota(letters.begin(), letters.end(), 0);
    random.shuffle(letters);
    letters.resize(static_cast<std::size_t>(pairs));
    for (std::int64_t& digit : digits) digit = kFirstDigit + random.below(kDigits);
    const auto digit_of = [&](std::int64_t letter) { return digits[static_cast<std::size_t>(letter)]; };
    for (const std::int64_t letter : letters)
      source.insert(source.end(), {kFirstLetter + letter, digit_of(letter)});
    random.shuffle(letters);
    for (const std::int64_t letter : letters) {
      questions.push_back(kFirstLetter + letter);
      answers.push_back(digit_of(letter));
    }
  }
  return {Indices(source, {rows, 2 * pairs}), Indices(questions, {rows, pairs}),
          Indices(answers, {rows, pairs})};
}

void train(Finder& model, kit::Random& random) {
  grader::train(model.parameters(), kLearningRate, kSteps, [&] {
    const Lists lists = draw(random, kRows, random.between(kFewest, kMost));
    return cross_entropy(model(lists.source, lists.questions), lists.answers);
  });
}

/// Returns the percentage of right answers.
double right_answers(const Tensor& logits, const Lists& lists) {
  const Ids said = argmax(logits).to_vector(), wanted = lists.answers.to_vector();
  double right = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) right += said[i] == wanted[i];
  return 100 * right / static_cast<double>(wanted.size());
}

}  // namespace

void judge(Judge& judge) {
  Finder model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("has at most 10,000 weights", [&] { judge.between(weights, 1, 10000, "the weights"); });
  judge.claim("returns logits for each question", [&] {
    const Lists lists = draw(judge.random(), 3, 4);
    judge.same(model(lists.source, lists.questions).shape(), {3, 4, kVocabulary}, "the logits");
  });
  judge.claim("answers questions about 8 pairs", [&] {
    train(model, judge.random());
    model.eval();
    const Lists lists = draw(judge.random(), kTests, kAsked);
    const Tensor logits = model(lists.source, lists.questions);
    const double right = right_answers(logits, lists), loss = cross_entropy(logits, lists.answers).item();
    judge.that(
        right >= 95,
        fmt::format(
            "{} weights answer {:.1f} % of the questions about 8 pairs correctly, but 95 % are required; "
            "the loss of an answer is {:.3f}",
            weights, right, loss),
        {right, loss});
    fmt::print("{} weights answer {:.1f} % of the questions correctly; the loss is {:.3f}.\n", weights, right,
               loss);
    judge.score(weights, "weights");
  });
}
