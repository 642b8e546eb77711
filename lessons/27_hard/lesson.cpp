// 27 hard: sample where to look
//
// 20 minutes to read, 20 seconds to run. Needs lesson 06 (scores, and the task), 03 (Adam) and 02
// (gradcheck). Afterwards you can train through a choice that has no derivative, measure what an estimate
// of a gradient is worth, and make a bad one better without changing what it aims at.
//
// All attention so far is *soft*: it reads every value, and mixes. What if only one may be read? Opening a
// cell may cost something; a camera points at one place. *Hard* attention draws one key and reads it alone
// (Xu and others 2015). But what is drawn does not change when scores change a little, so the loss after a
// draw has no slope. How can scores learn from it?

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/27_hard/estimators.hpp"
#include "lessons/27_hard/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson27;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. One glance with a pencil --------------------------------------------------------------------------
// Two cells are read with the chances p = softmax(s) = (¼, ¾), and L = (1, 3) are the losses after reading
// them. The loss of one draw jumps, but the *expected* loss J is as smooth as p:
//
//     J = Σ_a p_a L_a = ¼ · 1 + ¾ · 3 = 2.5                      ∂p_a/∂s_k = p_a (1{a = k} − p_k) (lesson 02)
//     ∂J/∂s_k = Σ_a p_a · L_a (1{a = k} − p_k) = p_k (L_k − J)   for s₁: ¼ · (1 − 2.5) = −0.375
//
// That takes all L, so all cells would have to be opened. But read the sum again: it is a mean over draws,
// with the chances p_a, of L_a (1{a = k} − p_k), where the loss of the drawn cell stands alone. So one draw
// gives an *estimate* of the gradient that is right on average, or *unbiased*. As 1{a = k} − p_k is the
// derivative of ln p_a, the estimate is L_a ∂ln p_a/∂s_k. This is REINFORCE (Williams 1992), or the *score
// function* (statistics calls that derivative a score; it is not one of ours). For s₁:
//
//     drawn    chance     L_a (1{a = 1} − ¼)         the same with L_a − 2.5
//       1        ¼         1 · ¾ =  0.75             (1 − 2.5) ·   ¾  = −1.125
//       2        ¾        −3 · ¼ = −0.75             (3 − 2.5) · (−¼) = −0.125
//     mean                −0.375                     −0.375
//     variance             0.422                      0.188      (the mean of the squares, minus 0.375²)
//
// Right on average, and far off each time. The last column takes a *baseline* b from the losses. The mean
// stays: Σ_a p_a b ∂ln p_a/∂s_k = b Σ_a ∂p_a/∂s_k = 0, as chances sum to 1 whatever s is. A good b is what
// one expects, J, or the mean of the losses so far; it must be known before the draw. In code it is a loss
// whose *gradient* is the estimate, and whose value means nothing:

/// Scores (B, n), which key each row drew and the loss after it (B) → (B).
Tensor reinforce(const Tensor& scores, const Indices& drawn, const Tensor& losses, double b) {
  const Tensor one = one_hot(drawn, scores.size(-1), scores.dtype());
  const Tensor log_p = sum(one * log_softmax(scores, -1), {-1});
  return losses + (losses.detach() - b) * log_p;
}

// The first term is for what learns to use what was read: its gradient comes through the losses as usual.

void pencil(kit::Report& report) {
  const kit::Question larger = report.ask(
      "both losses 10 larger", "Now L = (11, 13), without a baseline. What becomes of the estimate for s₁?",
      {"its mean is larger, its variance stays", "its mean stays, its variance is larger", "both stay"});
  const Moments raw = of_two_cells(reinforce, {1, 3}, 0), cut = of_two_cells(reinforce, {1, 3}, 2.5);
  kit::check_worked_example(
      report, "single estimates",
      {{raw.drawn[0], 0.75}, {raw.drawn[1], -0.75}, {cut.drawn[0], -1.125}, {cut.drawn[1], -0.125}});
  kit::check_worked_example(
      report, "means and variances",
      {{raw.mean, -0.375}, {raw.variance, 0.422}, {cut.mean, -0.375}, {cut.variance, 0.188}});
  const Moments moved = of_two_cells(reinforce, {11, 13}, 0);
  report.figure("its mean now", moved.mean);
  report.figure("its variance now", moved.variance);
  report.answer(larger, 'b', std::abs(moved.mean + 0.375) < 1e-9 && moved.variance > 50 * raw.variance,
                "What is added to all losses is a baseline with the wrong sign, b = −10.");
}

// ---- 2. Noise in place of the die -------------------------------------------------------------------------
// How does one draw with the chances softmax(s)? Add noise g = −ln(−ln u) to each score, with u at random
// between 0 and 1, and take the largest: key a is the largest with probability p_a (Gumbel 1954). Then
// chance is an input, and the draw a function of s + g. It still jumps, because of "the largest". With a
// softmax in its place it has a derivative: *Gumbel-softmax* (Jang and others; Maddison and others, 2017),
//
//     w = softmax((s + g) / τ)          τ → 0: 1 at the drawn key         τ large: nearly equal weights
//
// This is a mixture again. Its *straight-through* form reads the largest alone, with weight 1, and lets
// backward believe that it read w. Neither needs ln p. But their slope is not that of J: they are *biased*.

Tensor gumbel(const Tensor& u) { return 0.0 - log(0.0 - log(u)); }

Indices draw(const Tensor& scores, const Tensor& noise) { return argmax(scores.detach() + noise); }

Tensor soft(const Tensor& scores, const Tensor& noise, double tau) {
  return softmax((scores + noise) / tau, -1);
}

Tensor straight_through(const Tensor& scores, const Tensor& noise, double tau) {
  const Tensor w = soft(scores, noise, tau);
  return one_hot(argmax(w), w.size(-1), w.dtype()) + (w - w.detach());  // + 0, with the gradient of w
}

// In nn/ they are choose() with score_function_loss(), and gumbel_softmax(τ, kind), a normaliser for any
// attention. Their noise comes from set_random(seed, step), as that of dropout does.

void compare(std::uint64_t seed, kit::Report& report) {
  const Tensor scores = expand(log(tensor({{0.25, 0.75}}, f64)), {100'000, 2});
  const Indices drawn = draw(scores, gumbel(random_uniform({100'000, 2}, seed, 1e-12, 1, f64)));
  report.check_quoted("share of draws that are cell 1", mean(one_hot(drawn, 2, f64), {0}).at({0}), 0.25,
                      0.03);
  check_all(report, reinforce, soft, straight_through, seed);
}

// ---- 3. What an estimate is worth -------------------------------------------------------------------------
// A question, sixteen cells, and a reader that understands symbols, but does not know yet where to look.
// The exact gradient of its expected loss is p_k (L_k − J). Each way now makes 100,000 estimates of it. If
// they are unbiased, their mean is off by chance only, by a few *standard errors*, √(variance / 100,000).
// The variance is given in squares of the gradient: at 400 a mean of 400 draws has as much noise as signal.

void worth(const Unsure& unsure, const kit::Options& options, kit::Report& report) {
  const kit::Question colder =
      report.ask("τ = 0.1", "What becomes of Gumbel-softmax when τ falls from 1 to 0.1?",
                 {"less bias, less variance", "less bias, more variance", "more bias, less variance"});
  const kit::Question opened =
      report.ask("one cell opened", "Forward and backward: which of them need to open one cell only?",
                 {"REINFORCE and straight-through", "REINFORCE alone", "all of them"});
  const Worths all = measure(unsure, options.smoke ? 1000 : 100'000, options.seed);
  show(all, options);
  const Worth &plain = all.no_baseline, &baseline = all.baseline, &cold = all.soft_cold,
              &warm = all.soft_warm;
  report.at_most("REINFORCE off, in standard errors", std::max(plain.errors, baseline.errors), 5);
  report.at_least("Gumbel-softmax, τ = 1, off, in standard errors", warm.errors, 10);
  report.at_least("variance without a baseline ÷ with one", plain.variance / baseline.variance, 5);
  report.answer(colder, 'b', cold.errors < warm.errors && cold.variance > 5 * warm.variance,
                "The colder, the more it is like a draw, and the steeper where two keys are about equal.");
  const Peeks peeks = who_peeks(unsure, options.seed);
  report.answer(opened, 'b', !peeks.reinforce && peeks.straight_through,
                "To pretend that it mixed, straight-through asks what more of each cell would have done. Put "
                "something else under a cell that was not read, and its gradient changes.");
}

// ---- 4. Find the one cell ---------------------------------------------------------------------------------
// Now the reader learns. The task is that of lesson 06: arrows k stand on the covers, who means k asks with
// R k, and symbols lie under the covers. In training a cell is drawn; in the test the one with the largest
// score is read. One reader always draws at random: it learns what to say, and not where to look.

FiveWays find(double temperature, const kit::Options& options, kit::Report& report) {
  const FiveWays five = train_five(temperature, options);
  report.at_least("REINFORCE with a baseline: right", five.baseline, 95, "%");
  report.at_least("Gumbel-softmax, both: right", std::min(five.soft, five.straight_through), 95, "%");
  report.at_most("a cell at random: right", five.at_random, 20, "%");
  return five;
}

// ---- 5. How much variance learning stands -----------------------------------------------------------------
// A caption of twenty words has a loss that a glance hardly changes. So let us add a number to every loss.
// The expected gradient stays the same. Nor are Adam's steps longer: it divides by the size of what it gets.

void raise(double most, const Unsure& unsure, const FiveWays& five, const kit::Options& options,
           kit::Report& report) {
  const kit::Question noisy = report.ask(
      "every loss 30 larger", "Every loss is 30 larger. How many answers are right without a baseline?",
      {"as many as before: on average the steps are the same", "fewer than half", "as many, a little later"});
  const Raised right = raise_losses(unsure, five, most, options);
  report.at_least("with a baseline: right", right.baseline, 95, "%");
  report.answer(
      noisy, 'b', right.no_baseline <= 45,
      "Steps that are right on average go astray where noise hides them. A baseline takes out what was "
      "added, whatever it is.");
}

// What to remember. A draw has no slope, an expected loss has. REINFORCE estimates it without bias from the
// one cell that was read, and a baseline takes variance out of it for nothing. Gumbel-softmax puts a slope
// in the place of the jump: less variance, some bias, and all cells have to be open.
//
// Exercises: lessons/practise 27 (many glances; leave one out; a faulty die; what to expect; few glances).

void lesson(double temperature, double added, const kit::Options& options, kit::Report& report) {
  const Unsure unsure = unsure_reader(options.seed);
  report.section("One glance with a pencil");
  pencil(report);
  report.section("Noise in place of the die");
  compare(options.seed, report);
  report.section("What an estimate is worth");
  worth(unsure, options, report);
  report.section("Find the one cell");
  const FiveWays five = find(temperature, options, report);
  report.section("How much variance learning stands");
  raise(added, unsure, five, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("27_hard", "sample where to look");
  program.steps(1000, 10);
  double temperature = 1, added = 30;
  program.add("--temperature", temperature, "τ of Gumbel-softmax in training", 0.01, 100);
  program.add("--added", added, "what is added to every loss in part 5", 0.1, 10'000);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    lesson(temperature, added, options, report);
  });
}
