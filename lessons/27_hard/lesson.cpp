// 27 hard: sample one key, and train through the draw
//
// 20 minutes to read, 20 seconds to run. Needs lesson 06 (scores, and the task), 03 (Adam) and 02
// (gradcheck). Afterwards you can train through a random choice that has no derivative, measure the bias and
// the variance of a gradient estimate, and reduce its variance without changing its mean.
//
// All attention so far is *soft*: the result is a weighted average of all values. But sometimes a model can
// read only one value. For example, opening a cell may cost something, or a camera can point at only one
// place. *Hard* attention draws one key at random, with the attention weights as probabilities, and reads
// only its value (Xu and others 2015).
//
// A small change of the scores usually does not change the drawn key. So the derivative of the loss after a
// draw is 0, wherever it exists. How can the scores be trained?

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

// ---- 1. The REINFORCE estimate by hand --------------------------------------------------------------------
// Suppose there are two cells. The model reads one of them, with the probabilities p = softmax(s) = (¼, ¾).
// The loss is 1 after reading the first cell and 3 after reading the second: L = (1, 3). The loss of a single
// draw jumps between these numbers. But the *expected* loss J is a smooth function of the scores:
//
//     J = Σ_a p_a L_a = ¼ · 1 + ¾ · 3 = 2.5                      ∂p_a/∂s_k = p_a (1{a = k} − p_k) (lesson 02)
//     ∂J/∂s_k = Σ_a p_a · L_a (1{a = k} − p_k) = p_k (L_k − J)   for s₁: ¼ · (1 − 2.5) = −0.375
//
// Here 1{a = k} is 1 if a = k, and 0 otherwise. This formula needs all losses L_a, so we would have to open
// all cells.
//
// But the sum Σ_a p_a · L_a (1{a = k} − p_k) is the mean of L_a (1{a = k} − p_k) over random draws a with the
// probabilities p_a. Each draw needs only its own loss L_a. So a single draw gives an *estimate* of the
// gradient. The estimate is *unbiased*, which means that its mean is the exact gradient.
//
// Because 1{a = k} − p_k is the derivative of ln p_a, the estimate is L_a ∂ln p_a/∂s_k. It is called
// REINFORCE (Williams 1992), or the *score function* estimate. (In statistics, the score is this derivative.
// It has nothing to do with attention scores.) For s₁ we get:
//
//     drawn    probability   L_a (1{a = 1} − ¼)       with the baseline 2.5: (L_a − 2.5) (1{a = 1} − ¼)
//       1        ¼            1 · ¾ =  0.75            (1 − 2.5) ·   ¾  = −1.125
//       2        ¾           −3 · ¼ = −0.75            (3 − 2.5) · (−¼) = −0.125
//     mean                   −0.375                    −0.375
//     variance                0.422                     0.188      (the mean of the squares, minus 0.375²)
//
// The mean of the estimates is right, but each single estimate is far from it. The last column subtracts a
// *baseline* b from the losses. The mean stays the same, because Σ_a p_a b ∂ln p_a/∂s_k = b Σ_a ∂p_a/∂s_k =
// 0: the probabilities sum to 1 for every s.
//
// A good baseline is the expected loss J, or the mean of earlier losses. It must not depend on the draw.
//
// In code, we return a loss whose *gradient* is the estimate. The value of this loss has no meaning:

/// Maps scores (B, n), the key that each row drew, and the loss after the draw (B) to a loss for each row
/// (B).
Tensor reinforce(const Tensor& scores, const Indices& drawn, const Tensor& losses, double b) {
  const Tensor one = one_hot(drawn, scores.size(-1), scores.dtype());
  const Tensor log_p = sum(one * log_softmax(scores, -1), {-1});
  return losses + (losses.detach() - b) * log_p;
}

// The first term, `losses`, trains the part of the model that uses the value. Its gradient flows through the
// losses as usual.

void pencil(kit::Report& report) {
  const kit::Question larger = report.ask(
      "both losses 10 larger",
      "Now let L = (11, 13), without a baseline. How do the mean and the variance of the estimate for s₁ change?",
      {"the mean grows, the variance stays the same", "the mean stays the same, the variance grows",
       "both stay the same"});
  const Moments raw = of_two_cells(reinforce, {1, 3}, 0), cut = of_two_cells(reinforce, {1, 3}, 2.5);
  kit::check_worked_example(
      report, "single estimates",
      {{raw.drawn[0], 0.75}, {raw.drawn[1], -0.75}, {cut.drawn[0], -1.125}, {cut.drawn[1], -0.125}});
  kit::check_worked_example(
      report, "means and variances",
      {{raw.mean, -0.375}, {raw.variance, 0.422}, {cut.mean, -0.375}, {cut.variance, 0.188}});
  const Moments moved = of_two_cells(reinforce, {11, 13}, 0);
  report.figure("mean of the estimate with L = (11, 13)", moved.mean);
  report.figure("variance of the estimate with L = (11, 13)", moved.variance);
  report.answer(
      larger, 'b', std::abs(moved.mean + 0.375) < 1e-9 && moved.variance > 50 * raw.variance,
      "Adding 10 to all losses is the same as a baseline of −10: the mean of the estimate does not change, but "
      "the single estimates move away from it.");
}

// ---- 2. Gumbel noise --------------------------------------------------------------------------------------
// How can we draw a key with the probabilities softmax(s)? We add noise g = −ln(−ln u) to each score, where u
// is uniform between 0 and 1, and choose the key with the largest sum. Key a has the largest sum with the
// probability p_a (Gumbel 1954). Now the randomness is an input, and the drawn key is a function of s + g.
//
// This function still jumps, because it returns the index of the largest number. If we replace the maximum by
// a softmax, it has a derivative. The result is *Gumbel-softmax* (Jang and others; Maddison and others,
// 2017):
//
//     w = softmax((s + g) / τ)          τ → 0: 1 at the drawn key         τ large: nearly equal weights
//
// τ is called the temperature. The weights w are a mixture again, so the model reads all values. The
// *straight-through* form reads only the value of the key with the largest weight, and gives it the weight 1.
// In backward, it uses the gradient of w.
//
// Neither form needs ln p. But in general, the mean of their gradients is not the gradient of J: they are
// *biased*.

Tensor gumbel(const Tensor& u) { return 0.0 - log(0.0 - log(u)); }

Indices draw(const Tensor& scores, const Tensor& noise) { return argmax(scores.detach() + noise); }

Tensor soft(const Tensor& scores, const Tensor& noise, double tau) {
  return softmax((scores + noise) / tau, -1);
}

Tensor straight_through(const Tensor& scores, const Tensor& noise, double tau) {
  const Tensor w = soft(scores, noise, tau);
  return one_hot(argmax(w), w.size(-1), w.dtype()) + (w - w.detach());  // adds 0, with the gradient of w
}

// In nn/, REINFORCE is choose() with score_function_loss(). Gumbel-softmax is gumbel_softmax(τ, kind), a
// normaliser for any attention. Their noise comes from set_random(seed, step), like the noise of dropout.

void compare(std::uint64_t seed, kit::Report& report) {
  const Tensor scores = expand(log(tensor({{0.25, 0.75}}, f64)), {100'000, 2});
  const Indices drawn = draw(scores, gumbel(random_uniform({100'000, 2}, seed, 1e-12, 1, f64)));
  report.check_quoted("frequency of cell 1 among the draws", mean(one_hot(drawn, 2, f64), {0}).at({0}), 0.25,
                      0.03);
  check_all(report, reinforce, soft, straight_through, seed);
}

// ---- 3. Bias and variance of the estimates ----------------------------------------------------------------
// We now have one question and sixteen cells. The reader has learned the symbols, but not yet which cell to
// read. The exact gradient of its expected loss is p_k (L_k − J). Each method makes 100,000 estimates of this
// gradient.
//
// If a method is unbiased, the mean of its estimates differs from the gradient only by chance. We measure the
// difference in *standard errors*, √(variance / 100,000). For an unbiased method it is a few standard errors.
//
// We report the variance divided by the squared gradient. If this number is 400, a mean of 400 draws has as
// much noise as signal.

void worth(const Unsure& unsure, const kit::Options& options, kit::Report& report) {
  const kit::Question colder = report.ask(
      "τ = 0.1", "How do the bias and the variance of Gumbel-softmax change when τ falls from 1 to 0.1?",
      {"less bias, less variance", "less bias, more variance", "more bias, less variance"});
  const kit::Question opened = report.ask(
      "one cell opened", "Which of the methods need only the opened cell, in forward and in backward?",
      {"REINFORCE and straight-through", "REINFORCE alone", "all of them"});
  const Worths all = measure(unsure, options.smoke ? 1000 : 100'000, options.seed);
  show(all, options);
  const Worth &plain = all.no_baseline, &baseline = all.baseline, &cold = all.soft_cold,
              &warm = all.soft_warm;
  report.at_most("REINFORCE: error of the mean, in standard errors", std::max(plain.errors, baseline.errors),
                 5);
  report.at_least("Gumbel-softmax, τ = 1: error of the mean, in standard errors", warm.errors, 10);
  report.at_least("variance without a baseline ÷ with one", plain.variance / baseline.variance, 5);
  report.answer(
      colder, 'b', cold.errors < warm.errors && cold.variance > 5 * warm.variance,
      "With a smaller τ, the weights are closer to a draw, so the bias is smaller. But where two noisy scores "
      "are nearly equal, the weights change more steeply, so the variance is larger.");
  const Peeks peeks = who_peeks(unsure, options.seed);
  report.answer(
      opened, 'b', !peeks.reinforce && peeks.straight_through,
      "Straight-through reads one cell in forward. But in backward it uses the gradient of a mixture, which "
      "depends on the values of all cells. If we change the symbol in a cell that was not read, its gradient "
      "changes.");
}

// At seed 1, the table of estimates reads:
//
//                                  variance error of the mean   in standard errors
//     REINFORCE, no baseline          967.9             9.0 %                  1.7
//     REINFORCE, baseline              29.8             0.6 %                  1.2
//     straight-through, τ = 0.1      1024.3            12.6 %                  2.7
//     straight-through, τ = 1          35.0            19.8 %                 20.5
//     Gumbel-softmax, τ = 0.1         371.8            10.7 %                  2.9
//     Gumbel-softmax, τ = 1             7.3            21.5 %                 44.0
//
// The last column shows the bias. With τ = 1, the means are many standard errors away from the gradient, so
// these two methods are biased. At other seeds, the numbers differ, but REINFORCE stays within a few standard
// errors.

// ---- 4. Training with five methods ------------------------------------------------------------------------
// Now the reader is trained. The task is similar to that of lesson 06. Each cell has an arrow k, a vector, on
// its cover, and a symbol under it. The query for the cell with the arrow k is R k, where R is an unknown
// rotation. The answer is the symbol in that cell.
//
// In training, the reader draws a cell. In the test, it reads the cell with the largest score. For
// comparison, one reader always draws a cell uniformly at random. It learns to name the symbol that it reads,
// but not where to look.

FiveWays find(double temperature, const kit::Options& options, kit::Report& report) {
  const FiveWays five = train_five(temperature, options);
  report.at_least("REINFORCE with a baseline: right answers", five.baseline, 95, "%");
  report.at_least("Gumbel-softmax, the lower of both forms: right answers",
                  std::min(five.soft, five.straight_through), 95, "%");
  report.at_most("a cell at random: right answers", five.at_random, 20, "%");
  return five;
}

// At seed 1, the readers give these shares of right answers:
//
//                              right answers
//     a cell at random                14.8 %
//     REINFORCE, no baseline          86.7 %
//     REINFORCE, baseline            100.0 %
//     Gumbel-softmax, soft           100.0 %
//     straight-through               100.0 %
//
// So a small bias does no harm here, but a large variance does. At other seeds, the numbers differ, but the
// last three methods always learn the task.

// ---- 5. How much variance training tolerates --------------------------------------------------------------
// In practice, a draw often has only a small effect on a large loss. For example, the loss of a caption with
// twenty words hardly depends on a single draw. To imitate this, we add the same number to every loss.
//
// The expected gradient stays the same. The steps of Adam do not become longer either, because Adam divides
// by the size of its gradients.

void raise(double most, const Unsure& unsure, const FiveWays& five, const kit::Options& options,
           kit::Report& report) {
  const kit::Question noisy = report.ask(
      "every loss 30 larger",
      "We add 30 to every loss and train without a baseline. How many answers are right, compared with the "
      "training without the added 30?",
      {"the same number, because the mean gradient is the same", "fewer than half of all answers",
       "the same number, but after more steps"});
  const Raised right = raise_losses(unsure, five, most, options);
  report.at_least("with a baseline: right answers", right.baseline, 95, "%");
  report.answer(
      noisy, 'b', right.no_baseline <= 45,
      "The mean of the estimates is right, but their noise is much larger than the signal, so the steps lead "
      "nowhere. A baseline removes the added number, whatever its size.");
}

// At seed 1, if a number is added to all losses, the variance and the right answers become:
//
//      added to losses   variance    no baseline     baseline
//                  0.0        968         86.7 %      100.0 %
//                  1.0       1494         41.1 %
//                  3.0       2894         22.1 %
//                 10.0      11461         22.5 %
//                 30.0      67360         17.2 %      100.0 %
//
// The reader with a baseline is trained for the first and the last row only. A baseline subtracts the added
// number again, so it does not matter how large the number is.

// What to remember. The loss after a draw has no useful derivative, but the expected loss has one. REINFORCE
// estimates its gradient without bias, from the one cell that was read. A baseline that does not depend on
// the draw can reduce the variance without adding bias. Gumbel-softmax replaces the draw by a function with a
// derivative. It has less variance, some bias, and needs the values of all cells.
//
// Exercises: lessons/practise 27 (REINFORCE for several draws; a leave-one-out baseline; debugging a sampler;
// means and variances of estimates; training with few draws).

void lesson(double temperature, double added, const kit::Options& options, kit::Report& report) {
  const Unsure unsure = unsure_reader(options.seed);
  report.section("The REINFORCE estimate by hand");
  pencil(report);
  report.section("Gumbel noise");
  compare(options.seed, report);
  report.section("Bias and variance of the estimates");
  worth(unsure, options, report);
  report.section("Training with five methods");
  const FiveWays five = find(temperature, options, report);
  report.section("How much variance training tolerates");
  raise(added, unsure, five, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("27_hard", "sample one key, and train through the draw");
  program.steps(1000, 10);
  double temperature = 1, added = 30;
  program.add("--temperature", temperature, "Temperature τ of Gumbel-softmax in training", 0.01, 100);
  program.add("--added", added, "Number that section 5 adds to every loss", 0.1, 10'000);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    lesson(temperature, added, options, report);
  });
}
