// 27.4 what_to_expect: means and variances of estimates
// predict, 15 minutes
//
// Two cells are read with the chances ½ and ½, and the losses after that are 0 and 2. Predict, for the
// estimate (L_a − b) (1{a = 1} − p₁) of the gradient by the first score: its mean; its variance with b = 0;
// its variance with b = 1, the expected loss; its variance with b = 0 if both losses are 10 larger; and how
// many draws must be averaged in that last case, so that the standard error of their mean is as large as the
// gradient. And what weight Gumbel-softmax with τ = 0.5 gives to the first of two cells whose noisy scores
// are 0.7 and 0.2.
#include "lessons/grader/answer.hpp"

double mean_of_it() {
  //[ of the estimate, with any b
  //: return not_written_yet();
  return -0.5;  // p₁ (L₁ − J) = ½ (0 − 1); or ½ · 0 · ½ + ½ · 2 · (−½)
  //]
}

double variance_without() {
  //[ b = 0
  //: return not_written_yet();
  return 0.25;  // the estimates are 0 and −1: half of their squares, 0.5, minus the mean's, 0.25
  //]
}

double variance_with() {
  //[ b = 1
  //: return not_written_yet();
  return 0;  // −1 · ½ and 1 · (−½): both draws say −½
  //]
}

double variance_raised() {
  //[ b = 0, the losses 10 and 12
  //: return not_written_yet();
  return 30.25;  // 10 · ½ = 5 and 12 · (−½) = −6: (25 + 36) / 2 − 0.25
  //]
}

double draws_for_as_much_noise() {
  //[ in that case
  //: return not_written_yet();
  return 121;  // √(30.25 / n) = 0.5: n is the variance in squares of the gradient
  //]
}

double noisy_weight() {
  //[ noisy scores 0.7 and 0.2, τ = 0.5
  //: return not_written_yet();
  return 1 / (1 + std::exp(-1.0));  // softmax of (1.4, 0.4): only their difference, 0.5 / τ, counts
  //]
}

// hint: Write down the two estimates, one for each draw. Their mean is half of their sum.
// hint: Variance: the mean of the squares, minus the square of the mean. Which estimates do the draws give
//   with b = 1?
// hint: The mean of n draws has the variance ____ / n, and the standard error is its root. It shall be 0.5.

// wrong: The sign: a larger first score lowers the expected loss, since the first cell's loss is the smaller
//   one.
// - return -0.5;
// + return 0.5;
// wrong: You left out the chances: p₁ (L₁ − J), with p₁ = ½.
// - return -0.5;
// + return -1;
// wrong: That is the mean of the squares. The square of the mean has to be taken off.
// - return 0.25;
// + return 0.5;
// wrong: That is the variance of the losses, 0 and 2. The estimate is not the loss: it is the loss times ±½.
// - return 0.25;
// + return 1;
// wrong: A baseline leaves the mean, not the variance. What does each of the two draws say with b = 1?
// - return 0;
// + return 0.25;
// wrong: Adding 10 leaves the mean, and not the variance: the estimates are now 5 and −6.
// - return 30.25;
// + return 0.25;
// wrong: That is the mean of the squares of 5 and −6. The square of the mean has to be taken off.
// - return 30.25;
// + return 30.5;
// wrong: The error shrinks with the root of n: √(30.25 / n) = 0.5, and so n = 30.25 / 0.5².
// - return 121;
// + return 60.5;
// wrong: You divided the root by the gradient: 5.5 / 0.5. The standard error has the root of n below it, so
//   that is √n.
// - return 121;
// + return 11;
// wrong: You multiplied with τ. A small τ makes weights more extreme: it divides.
// - return 1 / (1 + std::exp(-1.0));
// + return 1 / (1 + std::exp(-0.25));
// wrong: You forgot τ: the softmax is of the noisy scores divided by 0.5.
// - return 1 / (1 + std::exp(-1.0));
// + return 1 / (1 + std::exp(-0.5));
// wrong: Straight-through's forward pass would give 1. The soft form mixes.
// - return 1 / (1 + std::exp(-1.0));
// + return 1;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/attention/hard.hpp"

namespace {

struct Moments {
  double mean, variance;
};

/// Of the library's estimate for the first score of two equal ones: each draw once.
Moments moments(const std::vector<double>& losses, double b) {
  double sum = 0, squares = 0;
  for (const std::size_t a : {std::size_t{0}, std::size_t{1}}) {
    const Tensor scores = variable(zeros({1, 2}, DType::f64));
    Tape tape;
    const Tensor log_p = select(log_softmax(scores, -1), 1, static_cast<Size>(a));
    tape.backward(tapestry::sum(score_function_loss(tensor({losses[a]}, DType::f64), log_p, b)));
    const double estimate = scores.grad().at({0, 0});
    sum += estimate, squares += estimate * estimate;
  }
  return {sum / 2, squares / 2 - sum * sum / 4};
}

}  // namespace

void judge(Judge& judge) {
  const Moments plain = moments({0, 2}, 0), raised = moments({10, 12}, 0);
  judge.claim("foretells the mean", [&] { judge.predicted(mean_of_it(), plain.mean, "the mean"); });
  judge.claim("foretells the variance without a baseline",
              [&] { judge.predicted(variance_without(), plain.variance, "the variance"); });
  judge.claim("foretells the variance with one", [&] {
    judge.predicted(variance_with(), moments({0, 2}, 1).variance, "the variance");
  });
  judge.claim("foretells the variance with larger losses",
              [&] { judge.predicted(variance_raised(), raised.variance, "the variance"); });
  judge.claim("foretells how many draws it takes", [&] {
    judge.predicted(draws_for_as_much_noise(), raised.variance / (raised.mean * raised.mean), "the draws");
  });
  judge.claim("foretells a weight of Gumbel-softmax", [&] {
    const Tensor noisy = tensor({0.7, 0.2}, DType::f64);
    judge.predicted(std::round(100 * noisy_weight()) / 100, softmax_with_temperature(0.5)(noisy, {}).at({0}),
                    "the weight");
  });
}
