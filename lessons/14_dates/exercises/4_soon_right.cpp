// 14.4 soon_right: Right dates after few steps
// design, 25 minutes, limit 60 s, fast
//
// A small translator turns "xkqnov21" into the digits 1121. Its source has up to five stray letters, the first
// three letters of the month, and the day. Choose the model's widths, its learning rate, the decoder's input in
// training, and the number of training steps.
//
// The model may have at most 12,000 weights and train for at most 400 steps on batches of 32 dates. After that,
// it must write at least 95 % of the dates correctly in free decoding. Fewer steps are better: the grader keeps
// your best result.
//
//     fed(right, written, random)      returns the decoder's input at a step, one digit for each date
//     right, written                   the target digits and the decoder's own digits from the step before
//
// Digits are 0 … 9. random.chance(0.3) is true with probability 0.3. In the second half of the steps, the
// learning rate falls to 0.
#include "lessons/grader/answer.hpp"
#include "lessons/kit/random.hpp"
#include "nn/seq2seq/seq2seq.hpp"

using Digits = std::vector<std::int64_t>;
constexpr Size kRead = 38, kWritten = 12;  // vocabulary sizes of the source and of the output

//[ widths, learning rate, steps, and the decoder's input
//: TranslatorOptions widths() {
//:   return {{.vocabulary = kRead, .embedding = 8, .hidden = 8},
//:           {.vocabulary = kWritten, .embedding = 8, .hidden = 16, .attention = 8, .readout = 16}};
//: }
//: constexpr double kLearningRate = 0.001;
//: constexpr Size kSteps = 200;
//:
//: Digits fed(const Digits& right, const Digits& written, kit::Random& random) {
//:   static_cast<void>(right), static_cast<void>(random);
//:   return written;
//: }
TranslatorOptions widths() {
  return {{.vocabulary = kRead, .embedding = 16, .hidden = 16},
          {.vocabulary = kWritten, .embedding = 8, .hidden = 24, .attention = 16, .readout = 24}};
}
constexpr double kLearningRate = 0.02;  // few steps must be large steps
constexpr Size kSteps = 250;

Digits fed(const Digits& right, const Digits& written, kit::Random& random) {
  static_cast<void>(written), static_cast<void>(random);
  return right;  // teacher forcing: from the first step on, each digit is learned after right digits
}
//]

// hint: With which forcing ratio did the training in the chapter reach its target after the fewest steps? And
//   how far does one step move a weight at this learning rate?
// hint: Return right, not written. Then raise the learning rate: Adam moves a weight by about the learning rate
//   at each step, so 200 steps of 0.001 move it by at most about ____. Is that far enough?
// hint: constexpr double kLearningRate = 0.02; then widen the embeddings and states as far as 12,000 weights
//   allow. Reduce the steps as long as 95 % of the dates stay right.
//
// start: The steps are so small that the decoder still writes the most frequent digits. And in training, its
//   input is its own guesses.
//
// wrong: More than 400 steps are not allowed.
// - constexpr Size kSteps = 250;
// + constexpr Size kSteps = 2000;
// wrong: These are the sizes of a translator for sentences. A vocabulary of 38 symbols does not need embeddings
//   of 64 numbers.
// - return {{.vocabulary = kRead, .embedding = 16, .hidden = 16},
// - {.vocabulary = kWritten, .embedding = 8, .hidden = 24, .attention = 16, .readout = 24}};
// + return {{.vocabulary = kRead, .embedding = 64, .hidden = 64},
// + {.vocabulary = kWritten, .embedding = 32, .hidden = 64, .attention = 64, .readout = 64}};
// wrong: In 25 steps, the model does not see each month and day often enough, at any learning rate.
// - constexpr Size kSteps = 250;
// + constexpr Size kSteps = 25;
// wrong: With a learning rate of 0.5, each step is far too long. The gates saturate: they stay shut or open.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

// 0 padding, 1 <start>, 2 … 11 digits, 12 … 37 letters
constexpr std::int64_t kStart = 1, kDigit = 2, kLetter = 12;
constexpr Size kRows = 32, kTests = 300, kTime = 4;
constexpr const char* kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                   "jul", "aug", "sep", "oct", "nov", "dec"};

struct Dates {
  Indices source;              // (B, 10), padded on the left
  std::vector<Digits> digits;  // two digits of the month and two of the day, each for all dates
};

Dates draw(kit::Random& random, Size rows) {
  Digits source;
  std::vector<Digits> digits(kTime);
  for (Size row = 0; row < rows; ++row) {
    const Size stray = random.between(0, 5), month = random.below(12), day = random.between(1, 28);
    for (Size i = 0; i < 5; ++i) source.push_back(i < stray ? kLetter + random.below(26) : kStart);
    for (Size i = 0; i < 3; ++i) source.push_back(kLetter + kMonths[month][i] - 'a');
    source.push_back(kDigit + day / 10), source.push_back(kDigit + day % 10);
    digits[0].push_back((month + 1) / 10), digits[1].push_back((month + 1) % 10);
    digits[2].push_back(day / 10), digits[3].push_back(day % 10);
  }
  return {Indices(source, {rows, 10}), digits};
}

/// Returns the logits of each step. `input` chooses the decoder's input at each step t > 0.
using Input = std::function<Digits(Size t, const Digits& written)>;
std::vector<Tensor> run(const Translator& model, const Dates& dates, const Input& input) {
  const Encoded source = model.encoder(dates.source);
  const PreparedKV memory = model.decoder.prepare(source);
  DecoderState state = model.decoder.start(source);
  std::vector<Tensor> logits;
  Digits words(dates.digits[0].size(), kStart);
  for (Size t = 0; t < kTime; ++t) {
    if (t > 0) {
      Digits written = argmax(logits.back()).to_vector();
      for (std::int64_t& word : written) word = std::max<std::int64_t>(0, word - kDigit);
      words = input(t, written);
      for (std::int64_t& word : words) word += kDigit;
    }
    logits.push_back(
        model.decoder.step(Indices(words, {static_cast<Size>(words.size())}), state, memory).logits);
  }
  return logits;
}

/// Returns the percentage of dates in which all digits are right.
double all_right(const std::vector<Tensor>& logits, const Dates& dates) {
  std::vector<bool> right(dates.digits[0].size(), true);
  for (std::size_t t = 0; t < logits.size(); ++t) {
    const Digits said = argmax(logits[t]).to_vector();
    for (std::size_t row = 0; row < right.size(); ++row)
      if (said[row] != kDigit + dates.digits[t][row]) right[row] = false;
  }
  return 100.0 * static_cast<double>(std::count(right.begin(), right.end(), true)) /
         static_cast<double>(right.size());
}

}  // namespace

void judge(Judge& judge) {
  Translator model(widths());
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("stays within the budgets", [&] {
    judge.between(static_cast<double>(kSteps), 1, 400, "the number of steps");
    judge.between(weights, 1, 12'000, "the number of weights");
  });
  judge.claim("writes dates in free decoding", [&] {
    grader::train(model.parameters(), kLearningRate, kSteps, [&] {
      const Dates dates = draw(judge.random(), kRows);
      Digits wanted;
      for (std::size_t row = 0; row < kRows; ++row)
        for (const Digits& digits : dates.digits) wanted.push_back(kDigit + digits[row]);
      const std::vector<Tensor> logits = run(model, dates, [&](Size t, const Digits& written) {
        return fed(dates.digits[static_cast<std::size_t>(t - 1)], written, judge.random());
      });
      return cross_entropy(stack(logits, 1), Indices(wanted, {kRows, kTime}));
    });
    model.eval();
    const Dates dates = draw(judge.random(), kTests);
    const double alone =
        all_right(run(model, dates, [](Size, const Digits& written) { return written; }), dates);
    judge.that(
        alone >= 95,
        fmt::format(
            "after {} steps, the model writes {:.0f} % of the dates correctly, but at least 95 % must be "
            "correct",
            kSteps, alone),
        {alone});
    fmt::print("{} weights, {} steps: {:.0f} % of the dates are right.\n", weights, kSteps, alone);
    judge.score(static_cast<double>(kSteps), "steps");
  });
}
