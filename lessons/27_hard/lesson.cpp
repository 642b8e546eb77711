// 27 hard: sample one key, and train through the draw
//
// 20 minutes to read, 20 seconds to run. Needs lessons 02 (the derivative of softmax), 03 (Adam) and 06
// (scores, and the task). Afterwards you can train through a random choice that has no derivative, measure the
// bias and the variance of a gradient estimate, and reduce its variance without changing its mean.
//
// All attention so far is *soft*: the result is a weighted average of all values. But sometimes a model can
// read only one value. For example, a camera can point at only one place at a time. In another example, the
// values are in closed cells, and opening a cell has a cost. *Hard* attention draws one key at random, with the
// attention weights as probabilities, and reads only its value (Xu and others 2015).
//
// How can the scores be trained? Suppose that the random numbers of the draw stay the same. If we change a
// score a little, the drawn key usually stays the same, and so does the loss. Sometimes the key changes, and
// the loss jumps. So the derivative of the loss with respect to the scores is 0, except at the jumps, where it
// does not exist.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

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
// The loss is 1 after reading the first cell and 3 after reading the second: L = (1, 3). The loss after a
// single draw is one of these two numbers. But the *expected* loss J is a smooth function of the scores:
//
//     J = Σ_a p_a L_a = ¼ · 1 + ¾ · 3 = 2.5
//
// So we can compute its gradient. From lesson 02 we know the derivative of softmax,
// ∂p_a/∂s_k = p_a (δ_ak − p_k), where δ_ak is 1 if a = k, and 0 otherwise. Therefore
//
//     ∂J/∂s_k = Σ_a p_a · L_a (δ_ak − p_k) = p_k (L_k − J)          for s₁: ¼ · (1 − 2.5) = −0.375
//
// This formula needs all losses L_a, so the model would have to open all cells. But look at the sum again. It
// is the expected value of L_a (δ_ak − p_k) if the cell a is drawn with the probability p_a. So we can draw one
// cell, observe only its loss L_a, and use L_a (δ_ak − p_k) as an *estimate* of the gradient. The estimate is
// *unbiased*: its mean is the exact gradient.
//
// The derivative of ln p_a with respect to s_k is δ_ak − p_k. So the estimate is L_a ∂ln p_a/∂s_k. It is called
// REINFORCE (Williams 1992) or the *score function estimator*. In reinforcement learning, it is the simplest
// policy gradient. (In statistics, the score is this derivative. It has nothing to do with attention scores.)
// For s₁ we get:
//
//     drawn    probability   L_a (δ_a1 − ¼)          with the baseline 2.5: (L_a − 2.5) (δ_a1 − ¼)
//       1        ¼            1 · ¾ =  0.75            (1 − 2.5) ·   ¾  = −1.125
//       2        ¾           −3 · ¼ = −0.75            (3 − 2.5) · (−¼) = −0.125
//     mean                   −0.375                    −0.375
//     variance                0.422                     0.188      (the mean of the squares, minus 0.375²)
//
// The mean of the estimates is right, but each individual estimate is far from it. The last column shows a
// remedy: a number b, the *baseline*, is subtracted from the losses. With b = 2.5, the variance falls. The mean
// stays the same for every b, because the probabilities sum to 1 for every s:
//
//     Σ_a p_a · b ∂ln p_a/∂s_k = b Σ_a ∂p_a/∂s_k = b ∂1/∂s_k = 0
//
// A good baseline is the expected loss J, or a moving average of earlier losses, which we use in section 4. It
// must not depend on the current draw.
//
// In code, we return a *surrogate loss*: its gradient is the estimate, and its value has no meaning.

/// Returns the surrogate loss of each row, (B), from scores (B, n), the drawn key of each row (B), the loss
/// after the draw (B), and the baseline.
Tensor reinforce(const Tensor& scores, const Indices& drawn, const Tensor& losses, double b) {
  const Tensor drawn_one_hot = one_hot(drawn, scores.size(-1), scores.dtype());
  const Tensor log_p = sum(drawn_one_hot * log_softmax(scores, -1), {-1});
  return losses + (losses.detach() - b) * log_p;
}

// The second term trains the scores. The first term, `losses`, trains the part of the model that uses the
// value: its gradient flows through the losses as usual. In the second term, the losses are only factors, so
// detach() stops the gradient there.

void estimate_by_hand(kit::Report& report) {
  const kit::Question larger_losses = report.ask(
      "both losses 10 larger",
      "Now let L = (11, 13), without a baseline. How do the mean and the variance of the estimate for s₁ change?",
      {"the mean grows, the variance stays the same", "the mean stays the same, the variance grows",
       "both stay the same"});
  const EstimateMoments raw = of_two_cells(reinforce, {1, 3}, 0);
  const EstimateMoments with_baseline = of_two_cells(reinforce, {1, 3}, 2.5);
  kit::check_worked_example(report, "single estimates",
                            {{raw.drawn[0], 0.75},
                             {raw.drawn[1], -0.75},
                             {with_baseline.drawn[0], -1.125},
                             {with_baseline.drawn[1], -0.125}});
  kit::check_worked_example(report, "means and variances",
                            {{raw.mean, -0.375},
                             {raw.variance, 0.422},
                             {with_baseline.mean, -0.375},
                             {with_baseline.variance, 0.188}});
  const EstimateMoments raised = of_two_cells(reinforce, {11, 13}, 0);
  report.figure("mean of the estimate with L = (11, 13)", raised.mean);
  report.figure("variance of the estimate with L = (11, 13)", raised.variance);
  report.answer(
      larger_losses, 'b', std::abs(raised.mean + 0.375) < 1e-9 && raised.variance > 50 * raw.variance,
      "Adding 10 to all losses is the same as a baseline of −10: the mean of the estimate does not change, but "
      "each single estimate is farther from the mean.");
}

// ---- 2. Gumbel noise --------------------------------------------------------------------------------------
// How can we draw a key with the probabilities softmax(s)? For each score, we draw u uniformly between 0 and 1,
// and add the noise g = −ln(−ln u). Then we choose the key with the largest sum. This is the *Gumbel-max
// trick*: key a has the largest sum with the probability p_a (Gumbel 1954). All randomness is now in g. Once g
// is drawn, the chosen key is a function of the scores. (This is called *reparameterisation*.)
//
// This function, the argmax of s + g, still jumps. If we replace the argmax by a softmax, the function has a
// derivative. The result is called *Gumbel-softmax* (Jang and others; Maddison and others, 2017). With the
// *temperature* τ > 0, the weights are
//
//     w = softmax((s + g) / τ)          τ → 0: 1 at the drawn key         τ large: nearly equal weights
//
// This is the *soft* form. Its result is a weighted average again, so the model reads all values. In the
// forward pass, the *straight-through* form reads only one value: the key with the largest weight gets the
// weight 1, and the others get 0. In the backward pass, it uses the gradient of w.
//
// Neither form needs ln p. But in general, the mean of their gradients is not the gradient of J. So these estimates
// are *biased*.

Tensor gumbel(const Tensor& u) { return 0.0 - log(0.0 - log(u)); }

Indices draw(const Tensor& scores, const Tensor& noise) { return argmax(scores.detach() + noise); }

Tensor soft(const Tensor& scores, const Tensor& noise, double tau) {
  return softmax((scores + noise) / tau, -1);
}

Tensor straight_through(const Tensor& scores, const Tensor& noise, double tau) {
  const Tensor w = soft(scores, noise, tau);
  return one_hot(argmax(w), w.size(-1), w.dtype()) + (w - w.detach());  // adds 0, with the gradient of w
}

// In nn/, choose() draws a key, and score_function_loss() is the surrogate loss of REINFORCE. gumbel_softmax(τ,
// kind) returns Gumbel-softmax as a normaliser, which any Attention layer can use. The draws depend on
// set_random(seed, step), like those of dropout.

void check_draws(std::uint64_t seed, kit::Report& report) {
  const Tensor scores = expand(log(tensor({{0.25, 0.75}}, f64)), {100'000, 2});
  const Indices drawn = draw(scores, gumbel(random_uniform({100'000, 2}, seed, 1e-12, 1, f64)));
  report.check_quoted("frequency of cell 1 among the draws", mean(one_hot(drawn, 2, f64), {0}).at({0}), 0.25,
                      0.03);
  check_all(report, reinforce, soft, straight_through, seed);
}

// ---- 3. Bias and variance of the estimates ----------------------------------------------------------------
// Now there are sixteen cells, and each contains one of ten symbols. The model, which we call the *reader*,
// draws a cell and names the symbol in it. Exactly one cell contains the symbol that is the right answer. The
// reader knows the symbols already: it gives the logit 4 to the symbol that it reads, and 0 to the others. It
// does not know yet which cell to read: its scores are random. Only the scores need a gradient here.
//
// With sixteen cells, we can still compute the exact gradient, p_k (L_k − J). Each method makes 100,000
// estimates of it. If a method is unbiased, the mean of its estimates differs from the gradient only by
// chance. The typical difference is one *standard error*, √(variance / 100,000). If the difference is many
// standard errors, the method is biased.
//
// The reported variance is relative: the sum of the variances over k, divided by the squared norm of the
// gradient. If it is 400, the mean of 400 estimates has as much noise as signal.

void compare_estimators(const SingleQuestion& question, const kit::Options& options, kit::Report& report) {
  const kit::Question colder = report.ask(
      "τ = 0.1", "How do the bias and the variance of Gumbel-softmax change when τ falls from 1 to 0.1?",
      {"less bias, less variance", "less bias, more variance", "more bias, less variance"});
  const kit::Question opened = report.ask(
      "one cell opened",
      "Which of the methods need only the value of the opened cell, in both the forward and the backward pass?",
      {"REINFORCE and straight-through", "REINFORCE alone", "all of them"});
  const EstimatorQualities all = measure(question, options.smoke ? 1000 : 100'000, options.seed);
  show(all, options);
  const Quality &plain = all.no_baseline, &baseline = all.baseline, &cold = all.soft_cold,
                &warm = all.soft_warm;
  report.at_most("REINFORCE: error of the mean, in standard errors",
                 std::max(plain.standard_errors, baseline.standard_errors), 5);
  report.at_least("Gumbel-softmax, τ = 1: error of the mean, in standard errors", warm.standard_errors, 10);
  report.at_least("variance without a baseline ÷ with one", plain.variance / baseline.variance, 5);
  report.answer(
      colder, 'b', cold.standard_errors < warm.standard_errors && cold.variance > 5 * warm.variance,
      "With a smaller τ, the weights are closer to one-hot, so the bias is smaller. But where two noisy scores "
      "are nearly equal, the weights change more steeply, so the variance is larger.");
  const DependsOnOthers reads = depends_on_other_cells(question, options.seed);
  report.answer(
      opened, 'b', !reads.reinforce && reads.straight_through,
      "Straight-through reads one cell in the forward pass. But in the backward pass it uses the gradient of "
      "a mixture, which depends on the values of all cells. If we change the symbol in a cell that was not "
      "read, the straight-through gradient changes.");
}

// At seed 1, the table of estimates reads as follows. The error of the mean is the norm of its difference from
// the gradient, divided by the norm of the gradient. The last column takes the sixteen scores one by one. It
// shows the largest difference of the mean from the gradient, in standard errors.
//
//                                  variance error of the mean   in standard errors
//     REINFORCE, no baseline          967.9             9.0 %                  1.7
//     REINFORCE, baseline              29.8             0.6 %                  1.2
//     straight-through, τ = 0.1      1024.3            12.6 %                  2.7
//     straight-through, τ = 1          35.0            19.8 %                 20.5
//     Gumbel-softmax, τ = 0.1         371.8            10.7 %                  2.9
//     Gumbel-softmax, τ = 1             7.3            21.5 %                 44.0
//
// The last column shows whether a method is biased. With τ = 1, the means are many standard errors away from
// the gradient, so these two methods are biased. With τ = 0.1, the error of the mean is smaller and the
// variance is larger, so even 100,000 estimates hardly show a bias. At other seeds, the numbers differ, but
// REINFORCE stays within a few standard errors.

// ---- 4. Training with five methods ------------------------------------------------------------------------
// Now we train the reader. It must also learn to name the symbols. The task is similar to that of lesson 06.
// Each cell has a key k, which we imagine as an arrow on the cover of the cell. The query for the cell with the
// key k is R k, where R is a rotation that the reader does not know. The right answer is the symbol in that
// cell.
//
// In training, a reader draws a cell and reads its symbol. (With the soft form, it reads a weighted average of
// all symbols.) In the test, a reader reads the cell with the largest score. One reader is for comparison only:
// in training and in the test, it draws a cell uniformly at random. It learns to name the symbol that it reads,
// but not where to look.

MethodResults train_readers(double temperature, const kit::Options& options, kit::Report& report) {
  const MethodResults five = train_five(temperature, options);
  report.at_least("REINFORCE with a baseline: right answers", five.baseline, 95, "%");
  report.at_least("Gumbel-softmax, the worse of the two forms: right answers",
                  std::min(five.soft, five.straight_through), 95, "%");
  report.at_most("a cell at random: right answers", five.at_random, 20, "%");
  return five;
}

// At seed 1, these percentages of the answers are right:
//
//                              right answers
//     a cell at random                14.8 %
//     REINFORCE, no baseline          86.7 %
//     REINFORCE, baseline            100.0 %
//     Gumbel-softmax, soft           100.0 %
//     straight-through               100.0 %
//
// A random cell is the right one in 1 of 16 cases. In the others, its symbol is right in 1 of 10 cases, because
// here several cells can contain the same symbol. So a reader of random cells should be right in about
// 1/16 + 15/16 · 1/10 = 5/32 of the cases. The bias of Gumbel-softmax, about 20 % of the gradient in section 3,
// does no harm here. The large variance of REINFORCE without a baseline does. At other seeds, the numbers
// differ, but the last three methods always learn the task.
//
// The picture glimpses.svg shows how the probabilities of the sixteen cells of one question change in training,
// for each of the four trained methods. Each row is one moment of the training. At seed 1, the probability
// moves to the right cell with all four methods, most slowly without a baseline.

// ---- 5. How much variance training tolerates --------------------------------------------------------------
// In practice, a draw often has only a small effect on a large loss. For example, the loss of a caption with
// twenty words hardly depends on a single draw. To imitate this, we add the same number to every loss.
//
// The mean of the estimates stays the same, because a number that is added to all losses acts as a baseline.
// The steps of Adam do not become longer either, because Adam divides by the size of its gradients.

void add_to_losses(double largest_added, const SingleQuestion& question, const MethodResults& five,
                   const kit::Options& options, kit::Report& report) {
  std::optional<kit::Question> noisy;
  if (largest_added >= 30)  // with a much smaller number, most answers may be right
    noisy = report.ask(
        fmt::format("every loss {:g} larger", largest_added),
        fmt::format(
            "We add {0:g} to every loss and train without a baseline. How many answers are right at the "
            "end, compared with training without the added {0:g}?",
            largest_added),
        {"the same number, because the mean gradient is the same", "fewer than half of all answers",
         "the same number, but after more steps"});
  const AddedLossAccuracy right = train_with_added_losses(question, five, largest_added, options);
  report.at_least("with a baseline: right answers", right.baseline, 95, "%");
  if (noisy)
    report.answer(
        *noisy, 'b', right.no_baseline <= 45,
        "The mean of the estimates is right, but their noise is much larger than the signal, so the parameters "
        "move almost at random. A baseline removes the added number, whatever its size.");
}

// At seed 1, the variance and the percentages of right answers depend on the added number as follows:
//
//      added to losses   variance    no baseline     baseline
//                  0.0        968         86.7 %      100.0 %
//                  1.0       1494         41.1 %
//                  3.0       2894         22.1 %
//                 10.0      11461         22.5 %
//                 30.0      67360         17.2 %      100.0 %
//
// The variance is that of REINFORCE without a baseline, for the sixteen cells of section 3. We trained the
// reader with a baseline only for the first and the last row. The baseline adapts to the added number and
// subtracts it again, so the size of the number does not matter.

// What to remember. The loss after a draw has no useful derivative, but the expected loss has one. REINFORCE
// estimates its gradient without bias, from the one cell that was read. A baseline that does not depend on
// the draw can reduce the variance without adding bias. Gumbel-softmax replaces the draw by a function with a
// derivative. Its gradient is biased and needs the values of all cells. Here, the soft form with τ = 1 had the
// smallest variance.
//
// Exercises: lessons/practise 27 (REINFORCE for several draws; a leave-one-out baseline; debugging a sampler;
// means and variances of estimates; training with few draws).

void lesson(double temperature, double added, const kit::Options& options, kit::Report& report) {
  const SingleQuestion question = single_question(options.seed);
  report.section("The REINFORCE estimate by hand");
  estimate_by_hand(report);
  report.section("Gumbel noise");
  check_draws(options.seed, report);
  report.section("Bias and variance of the estimates");
  compare_estimators(question, options, report);
  report.section("Training with five methods");
  const MethodResults five = train_readers(temperature, options, report);
  report.section("How much variance training tolerates");
  add_to_losses(added, question, five, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("27_hard", "sample one key, and train through the draw");
  program.steps(1000, 10);
  double temperature = 1, added = 30;
  program.add("--temperature", temperature, "Temperature τ of Gumbel-softmax in training", 0.01, 100);
  program.add("--added", added, "Largest number that section 5 adds to every loss", 0.1, 10'000);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    lesson(temperature, added, options, report);
  });
}
