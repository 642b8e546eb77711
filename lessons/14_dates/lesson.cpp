// 14 dates: what the decoder is fed: forcing and its cost
//
// 15 minutes to read, 30 seconds to run. Needs lesson 10 (teacher forcing, free decoding, exact match) and 11
// (the translator that looks back). Afterwards you can feed a decoder right words and its own in any mixture,
// say what gradient that leaves, and measure what a single mistake does to it.
//
// In training a decoder is fed the right word before. Later it is fed what it wrote itself, mistakes too, and
// has never seen one: the *exposure bias*. Should it not practise on its own words? Bengio, Vinyals, Jaitly
// and Shazeer (2015) tossed coins for it (*scheduled sampling*).

#include <fmt/format.h>

#include <functional>

#include "core/core.hpp"
#include "lessons/14_dates/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"

using namespace tapestry;
using namespace tapestry::lesson14;

namespace {

// ---- 1. A coin for every word -----------------------------------------------------------------------------
// A poor decoder, for a pencil: fed a digit it writes the next one, and after <start> a 3. It is to write
// 2 0 2 6. A coin is a random number from 0 to 1. Where it falls below the *forcing ratio*, the right word
// goes in; elsewhere the one that was written:
//
//     wanted             2        0      2      6
//     coin                      0.31   0.84   0.07
//     fed, ratio 1    <start>     2      0      2       all right words: teacher forcing
//     writes             3        3      1      3
//     fed, ratio 0.5  <start>     2      3      2       right, own (0.84 is not below 0.5), right
//     writes             3        3      4      3
//     fed, ratio 0    <start>     3      4      5       all its own: free decoding
//     writes             3        4      5      6
//
// Each row of a batch tosses a coin of its own at each step. What is *wanted* at a step is the right word,
// whatever was fed before it.

using Ids = std::vector<std::int64_t>;  // the words of a batch, a number each

Ids mix(const Ids& right, const Ids& written, double ratio, const std::function<double(std::size_t)>& coin) {
  Ids fed = right;
  for (std::size_t row = 0; row < right.size(); ++row)
    if (coin(row) >= ratio) fed[row] = written[row];
  return fed;
}

void with_a_pencil(kit::Report& report) {
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

// A real decoder's coins come from next_stream(): numbers that nobody else draws, and equal at equal seeds.
// right (B, T) is <start> y_1 …; the logits (B, T, V) are for y_1 y_2 …; decoder.step() is lesson 11's step.
Tensor write(const BahdanauDecoder& decoder, const Encoded& source, const Indices& right, double ratio) {
  const PreparedKV memory = decoder.prepare(source);  // the keys, once for the whole string
  DecoderState state = decoder.start(source);
  std::vector<Tensor> logits;
  for (Size t = 0; t < right.shape()[1]; ++t) {
    Ids words = right.column(t).to_vector();
    if (t > 0) {  // <start> is always given
      const Stream coins = next_stream();
      words = mix(words, argmax(logits.back()).to_vector(), ratio,
                  [&](std::size_t row) { return coins.uniform(row); });
    }
    logits.push_back(decoder.step(Indices(words, {right.shape()[0]}), state, memory).logits);
  }
  return stack(logits, 1);
}

// The written word is an argmax of logits. Does a gradient go from the loss at step t to the logits of t − 1,
// through the word that was chosen there? One figure says it. The output layer's bias is added to the logits
// of *every* step. Take the sum of the last logits alone: each number of the bias is in it once, which makes
// a gradient of 1. What differs from 1 came through the choices before.

void check_writing(std::uint64_t seed, kit::Report& report) {
  const kit::Question choice = report.ask(
      "through a choice",
      "At ratio 0 each word is the argmax of the logits before. What gradient do they get of it?",
      {"that of a softmax: a likelier word counts more", "none: only the chosen word's embedding gets one",
       "1 for the chosen word, 0 for all others"});
  const Small small(seed);
  const BahdanauDecoder& decoder = small.model.decoder;
  for (const double ratio : {1.0, 0.5, 0.0}) {
    const auto by_hand = [&] { return write(decoder, small.read(), small.right, ratio); };
    const auto by_nn = [&] { return decoder(small.right, small.read(), ratio); };
    kit::check_by_hand(report, fmt::format("write(), ratio {}", ratio), same_coins(seed, by_hand),
                       same_coins(seed, by_nn), small.model.parameters(), seed);
  }
  const double through_choices =
      bias_gradient_beyond_one(small, [&] { return write(decoder, small.read(), small.right, 0); });
  report.at_most("gradient through the choices", through_choices, 0);
  report.answer(
      choice, 'b', through_choices == 0,
      "Move the logits a little, and the argmax stays: its derivative is 0. Gradcheck sees the same "
      "and passes. A choice has an effect, but no derivative sees it.");
}

// ---- 2. Three ratios --------------------------------------------------------------------------------------
// The task: "21st of november 2026" → 2026-11-21, in any of ten forms (the day before the month where both
// are numbers) and the hundred years from 1970, after up to twenty stray letters and signs: no part of a date
// has a fixed place. One day in ten is kept out of training: whoever learns days by heart fails on those.
//
// Lesson 11's model, with the same first weights and the same dates, is fed at the ratios 1, 0.5 and 0. Now
// and then it writes unseen dates alone. (Losses cannot be compared: with right words the task is easier.)

std::vector<Trained> three_ratios(const Dates& test, const kit::Options& options, kit::Report& report) {
  const kit::Question sooner = report.ask(
      "sooner", "Ratio 0 trains as it is tested. Does it write half of the dates right sooner than ratio 1?",
      {"yes, after fewer steps", "after as many", "no, it takes more steps"});
  std::vector<Trained> all;
  for (const double ratio : {1.0, 0.5, 0.0}) {
    all.push_back(train_with(ratio, options));
    report.at_least(fmt::format("ratio {}: exact match on unseen dates", ratio),
                    exact_match(all.back(), test), 99, "%");
  }
  draw_curves(all, options);
  const double more = all[2].steps_to_half() - all[0].steps_to_half();
  report.at_least("steps that ratio 0 needs more than 1, to 50 %", more, 10);
  report.answer(sooner, 'c', more >= 10,
                "At first a decoder writes nonsense, and ratio 0 feeds it nothing but that.");
  return all;
}

// ---- 3. One wrong digit -----------------------------------------------------------------------------------
// In the end all three make hardly a mistake, and so are hardly fed one. What did the coins buy? Put one
// wrong digit into the input, let the decoder go on alone, and count the dates whose rest is right.

void wrong_digits(const std::vector<Trained>& all, const Dates& test, const kit::Options& options,
                  kit::Report& report) {
  const kit::Question rest = report.ask(
      "one wrong digit", "It is fed a wrong first digit of the month. Who writes the rest right more often?",
      {"ratio 0.5: it has been fed wrong digits", "both as often: the source says what is right",
       "ratio 1: it has learned from right digits only"});
  std::vector<Slips> slips;
  for (const Trained& each : all) slips.push_back(slip(each, test));
  draw_slips(all, slips, options);
  for (std::size_t i = 0; i < all.size(); ++i)
    report.figure(fmt::format("ratio {}: rest right, any place", all[i].ratio), slips[i].mean, "%");
  const double gain = slips[1].month - slips[0].month;
  report.at_least("ratio 0.5 over ratio 1, first digit of month", gain, 10, "points");
  report.answer(rest, 'a', gain >= 10,
                "Who was only ever fed right digits has no reason to doubt what is fed.");
  report.figure("ratio 1, fed 1 in 03 … 09: writes 10, 11, 12", slips[0].taken_for_autumn, "%");
}

// The last figure: after a 1, the second digit of a month was always 0, 1 or 2. Ratio 0 is no sure cure: once
// a model writes without mistakes it is fed none. The paper begins with ratio 1 and lowers it slowly. (A step
// at ratio 1 is cheaper, too: what needs no recurrence is one product for the whole sequence.)

// ---- 4. Where it looked -----------------------------------------------------------------------------------
// Nobody told the model which characters are the year, and nowhere does "november" say 11.

void where_it_looked(const Trained& trained, const Dates& test, const kit::Options& options,
                     kit::Report& report) {
  const kit::Question letters = report.ask(
      "the letters of november", "Where do the two digits of the month look in a name like november?",
      {"at all its letters alike", "at a few of its letters", "at its first letter"});
  const Looked looked = look(trained, test, options);
  report.at_least("weight of the month's digits on the month", looked.month_on_month, 50, "%");
  report.at_most("weight on stray characters, at most", looked.most_on_stray, 5, "%");
  report.at_least("of the name, on three letters", looked.on_three_letters, 75, "%");
  report.answer(letters, 'b', looked.on_three_letters >= 75,
                "A few letters tell twelve months apart, and their states have read their neighbours too.");
}

// What to remember. The forcing ratio is the share of right words that go in. No gradient passes through a
// chosen word. Own words cost steps at first, and buy a decoder that trusts less in what it is fed.
//
// Exercises: lessons/practise 14 (the coins; what coins and choices do; after a slip; soon right).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A coin for every word");
  with_a_pencil(report);
  check_writing(options.seed, report);
  report.section("Three ratios");
  const Dates test = test_dates(options);
  const std::vector<Trained> all = three_ratios(test, options, report);
  report.section("One wrong digit");
  wrong_digits(all, test, options, report);
  report.section("Where it looked");
  where_it_looked(all.front(), test, options, report);
}
}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("14_dates", "what the decoder is fed: forcing and its cost");
  program.steps(400, 4);
  return program.run(argc, argv, lesson);
}
