// 14 dates: choose what the decoder is fed in training: forcing and its cost
//
// 15 minutes to read, 30 seconds to run. Needs lesson 10 (teacher forcing, free decoding, exact match) and
// lesson 11 (the translator with attention). Afterwards you can feed a decoder any mixture of target tokens and
// its own tokens, say which gradients this mixture leaves, and measure what a single mistake does to the
// decoder.
//
// With teacher forcing, the decoder's input in training is always the previous *target token*, which is
// correct. In free decoding, the input is the token that the decoder wrote itself, and this token may be a
// mistake. So in free decoding, the decoder can get an input that it never saw in training. This difference
// is called *exposure bias*.
//
// Should the decoder train on its own tokens, then? Bengio, Vinyals, Jaitly and Shazeer (2015) proposed to toss
// a coin for every token. They called this *scheduled sampling*.

#include <fmt/format.h>

#include <functional>

#include "core/core.hpp"
#include "lessons/14_dates/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"

using namespace tapestry;
using namespace tapestry::lesson14;

namespace {

// ---- 1. A coin for every token ----------------------------------------------------------------------------
// Here is a poor decoder for an example by hand. Its tokens are digits. After <start> it writes 3, and after
// any digit it writes the next larger digit. Its target is 2 0 2 6.
//
// A coin is a random number from 0 to 1. If the coin is below the *forcing ratio*, the decoder's input is the
// target token of the step before. Otherwise it is the token that the decoder wrote at the step before. Each
// column of the table is a step. It shows the input and the output at three ratios, with the same coins:
//
//     target             2        0      2      6
//     coin                      0.31   0.84   0.07
//     input, ratio 1   <start>    2      0      2       target tokens only: teacher forcing
//     output             3        3      1      3
//     input, ratio 0.5 <start>    2      3      2       target, own (0.84 is not below 0.5), target
//     output             3        3      4      3
//     input, ratio 0   <start>    3      4      5       own tokens only: free decoding
//     output             3        4      5      6
//
// In a batch, each row tosses a separate coin at each step. The input does not change the target: at every
// step, the loss compares the output with the target token.

using Ids = std::vector<std::int64_t>;  // one token for each row of a batch

Ids mix(const Ids& right, const Ids& written, double ratio, const std::function<double(std::size_t)>& coin) {
  Ids fed = right;
  for (std::size_t row = 0; row < right.size(); ++row)
    if (coin(row) >= ratio) fed[row] = written[row];
  return fed;
}

void worked_example(kit::Report& report) {
  const auto writes = [](double ratio) {
    std::int64_t written = 3, all = 0;
    for (const auto& [right, coin] : {std::pair(2, 0.31), {0, 0.84}, {2, 0.07}}) {
      written = mix({right}, {written}, ratio, [coin = coin](std::size_t) { return coin; })[0] + 1;
      all = 10 * all + written;
    }
    return static_cast<double>(all);
  };
  kit::check_worked_example(report, "three rows", {{writes(1), 313}, {writes(0.5), 343}, {writes(0), 456}});
}

// In our real decoder, the function next_stream() provides the coins. It returns a new stream of random
// numbers, which is not shared with any other part of the program. The same seed gives the same numbers.
//
// `right` (B, T) holds the tokens <start> y_1 y_2 …, and the logits (B, T, V) are those for y_1 y_2 y_3 …. The
// function decoder.step() is the step from lesson 11.
Tensor write(const BahdanauDecoder& decoder, const Encoded& source, const Indices& right, double ratio) {
  const PreparedKV memory = decoder.prepare(source);  // computes the keys once for all steps
  DecoderState state = decoder.start(source);
  std::vector<Tensor> logits;
  for (Size t = 0; t < right.shape()[1]; ++t) {
    Ids words = right.column(t).to_vector();
    if (t > 0) {  // the first input is always <start>
      const Stream coins = next_stream();
      words = mix(words, argmax(logits.back()).to_vector(), ratio,
                  [&](std::size_t row) { return coins.uniform(row); });
    }
    logits.push_back(decoder.step(Indices(words, {right.shape()[0]}), state, memory).logits);
  }
  return stack(logits, 1);
}

// The decoder's own token is the argmax of its logits. Does a gradient flow from the loss at step t, through
// the token chosen at step t − 1, to the logits of step t − 1?
//
// One number answers this question. The bias of the output layer is added to the logits of *every* step. Take
// the sum of the logits of the last step alone. Each element of the bias is added to this sum once, directly,
// which gives a gradient of 1. If the gradient differs from 1, the difference has come through the tokens
// chosen before.

void check_writing(std::uint64_t seed, kit::Report& report) {
  const kit::Question choice =
      report.ask("through a choice",
                 "At ratio 0, each input token is the argmax of the previous step's logits. Which gradient "
                 "reaches these logits through the chosen token?",
                 {"the gradient of a softmax, larger for more probable tokens",
                  "none: only the embedding of the chosen token gets a gradient",
                  "1 for the chosen token and 0 for all others"});
  const Small small(seed);
  const BahdanauDecoder& decoder = small.model.decoder;
  for (const double ratio : {1.0, 0.5, 0.0}) {
    const auto by_hand = [&] { return write(decoder, small.read(), small.right, ratio); };
    const auto by_nn = [&] { return decoder(small.right, small.read(), ratio); };
    kit::check_by_hand(report, fmt::format("write(), ratio {}", ratio), with_same_coins(seed, by_hand),
                       with_same_coins(seed, by_nn), small.model.parameters(), seed);
  }
  const double through_choices =
      bias_gradient_error(small, [&] { return write(decoder, small.read(), small.right, 0); });
  report.at_most("gradient through the chosen tokens", through_choices, 0);
  report.answer(
      choice, 'b', through_choices == 0,
      "If the logits change a little, the argmax stays the same, so its derivative is 0. Gradcheck "
      "finds 0 too, and passes. A different choice would change the loss, but no gradient shows it.");
}

// ---- 2. Three forcing ratios ------------------------------------------------------------------------------
// The task: translate "21st of november 2026" into 2026-11-21. A date of the hundred years from 1970 is written
// in one of ten forms. (If day and month are both numbers, the day comes first.) Up to twenty stray letters and
// signs precede the date, so no part of a date has a fixed place.
//
// One day in ten is never used in training. A model that memorises days fails on these unseen days.
//
// We train the model from lesson 11 at the ratios 1, 0.5 and 0, from the same initial weights and on the same
// dates. During training, we measure how many unseen dates each model writes correctly in free decoding. We do
// not compare the losses: the task is easier with target tokens as input, so a lower loss would not mean a
// better model.

std::vector<Trained> three_ratios(const Dates& test, const kit::Options& options, kit::Report& report) {
  const kit::Question sooner =
      report.ask("sooner",
                 "With ratio 0, the model is trained exactly as it is tested. How many steps does it need to "
                 "write half of the unseen dates correctly, compared with ratio 1?",
                 {"fewer steps than with ratio 1", "about the same number of steps as with ratio 1",
                  "more steps than with ratio 1"});
  std::vector<Trained> all;
  for (const double ratio : {1.0, 0.5, 0.0}) {
    all.push_back(train_with(ratio, options));
    report.at_least(fmt::format("ratio {}: exact match on unseen dates", ratio),
                    exact_match(all.back(), test), 99, "%");
  }
  draw_curves(all, options);
  const double more = all[2].steps_to_half() - all[0].steps_to_half();
  report.at_least("additional steps to 50 %, ratio 0 over ratio 1", more, 10);
  report.answer(
      sooner, 'c', more >= 10,
      "At first, a decoder writes nonsense. With ratio 0, this nonsense is its only input after <start>.");
  return all;
}

// At seed 1, the three models end like this:
//
//      ratio 1: exact match on unseen dates          100 %
//      ratio 0.5: exact match on unseen dates        99.9 %
//      ratio 0: exact match on unseen dates          100 %
//
// To write half of the unseen dates correctly, they need different numbers of steps. At other seeds, these
// numbers differ, but ratio 0 always needs more steps than ratio 1.

// ---- 3. The effect of one wrong digit ---------------------------------------------------------------------
// At the end of training, all three models make hardly any mistakes. So in free decoding, their input hardly
// ever contains a mistake, either. Was it useful to train with coins? To find out, we put one wrong digit into
// the input, let the decoder continue with its own tokens, and count the dates whose remaining digits are all
// right.

void wrong_digits(const std::vector<Trained>& all, const Dates& test, const kit::Options& options,
                  kit::Report& report) {
  const kit::Question rest = report.ask(
      "one wrong digit",
      "The decoder is fed a wrong first digit of the month. Which model more often writes the rest "
      "of the date correctly?",
      {"the model trained with ratio 0.5, because it has been fed wrong digits",
       "neither: both models can find the right digits in the source",
       "the model trained with ratio 1, because it has learned from right digits only"});
  std::vector<ErrorRecovery> recovery;
  for (const Trained& each : all) recovery.push_back(measure_recovery(each, test));
  draw_recovery(all, recovery, options);
  for (std::size_t i = 0; i < all.size(); ++i)
    report.figure(fmt::format("ratio {}: rest right, mean over places", all[i].ratio), recovery[i].mean, "%");
  const double gain = recovery[1].month - recovery[0].month;
  report.at_least("gain of ratio 0.5 over ratio 1, month's first digit", gain, 10, "points");
  report.answer(rest, 'a', gain >= 10,
                "In training, the model with ratio 1 was fed right digits only. It has never had a reason to "
                "doubt its input.");
  report.figure("ratio 1, fed 1 for the 0 of 03 … 09: writes 10 … 12", recovery[0].valid_months, "%");
}

// At seed 1, after one wrong digit, the rest of the date is right in these shares of the dates:
//
//      ratio 1: rest right, mean over places         85.66 %
//      ratio 0.5: rest right, mean over places       96.1 %
//      ratio 0: rest right, mean over places         93.6 %
//
// So while the input contains no mistake, all three models are about equally good. After a mistake, the
// models that were trained with their own tokens are better.
//
// The last figure shows how the model with ratio 1 goes wrong. In its training input, the second digit of a
// month that begins with 1 was always 0, 1 or 2. So it often completes a wrong 1 to 10, 11 or 12.
//
// Ratio 0 does not always help. Once a model writes without mistakes, its own tokens contain no mistakes to
// learn from. The paper begins with ratio 1 and lowers the ratio slowly.
//
// A training step at ratio 1 is also cheaper. All inputs are known in advance, so every layer without
// recurrence computes the whole sequence in one matrix product.

// ---- 4. The alignment of digits and letters ---------------------------------------------------------------
// The training data does not say which characters are the year, and the letters of "november" do not contain
// 11. From which characters does the decoder get the month?

void digits_and_letters(const Trained& trained, const Dates& test, const kit::Options& options,
                        kit::Report& report) {
  const kit::Question letters =
      report.ask("the letters of november",
                 "The decoder writes the two digits of a month whose name is long, such as november. Which "
                 "letters of the name have most of the weight?",
                 {"all letters, with about equal weights", "a few letters", "the first letter"});
  const AlignmentStatistics statistics = measure_alignments(trained, test, options);
  report.at_least("weight of the month's digits on the month", statistics.month_on_month, 50, "%");
  report.at_most("largest weight on the stray characters", statistics.max_on_stray, 5, "%");
  report.at_least("three letters' part of the weight on a name", statistics.on_three_letters, 75, "%");
  report.answer(letters, 'b', statistics.on_three_letters >= 75,
                "A few letters are enough to tell the twelve months apart. The encoder state at each of "
                "these letters also depends on the letters next to it.");
}

// What to remember. The forcing ratio is the probability that the decoder's input is the target token and not
// the decoder's own token. No gradient passes through a chosen token. With its own tokens as input, a decoder
// learns more slowly at first. In exchange, it depends less on its input being right.
//
// Exercises: lessons/practise 14 (scheduled sampling; coins, choices and their gradients; the effect of one
// wrong token; right dates after few steps).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A coin for every token");
  worked_example(report);
  check_writing(options.seed, report);
  report.section("Three forcing ratios");
  const Dates test = test_dates(options);
  const std::vector<Trained> all = three_ratios(test, options, report);
  report.section("The effect of one wrong digit");
  wrong_digits(all, test, options, report);
  report.section("The alignment of digits and letters");
  digits_and_letters(all.front(), test, options, report);
}
}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("14_dates", "choose what the decoder is fed in training: forcing and its cost");
  program.steps(400, 4);
  return program.run(argc, argv, lesson);
}
