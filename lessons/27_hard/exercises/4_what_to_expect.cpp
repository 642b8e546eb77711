// 27.4 what_to_expect: Means and variances of estimates
// predict, 15 minutes
//
// A model reads one of two cells, with the probabilities ½ and ½. The loss is 0 after reading the first cell
// and 2 after reading the second. REINFORCE estimates the gradient with respect to the first score by
// (L_a − b) (δ_a1 − p₁), where δ_a1 is 1 if a = 1, and 0 otherwise. Predict six numbers:
//
// 1. the mean of the estimate;
// 2. its variance with b = 0;
// 3. its variance with b = 1, the expected loss;
// 4. its variance with b = 0, if both losses are 10 larger;
// 5. for case 4, the number of draws for which the standard error of their mean is as large as the gradient;
// 6. the weight that Gumbel-softmax with τ = 0.5 gives to the first of two cells, if their noisy scores s + g
// are 0.7 and 0.2.
#include "lessons/grader/answer.hpp"

double mean_of_it() {
  //[ the mean of the estimate, for every b
  //: return not_written_yet();
  return -0.5;  // p₁ (L₁ − J) = ½ (0 − 1); or ½ · 0 · ½ + ½ · 2 · (−½)
  //]
}

double variance_without() {
  //[ the variance with b = 0
  //: return not_written_yet();
  return 0.25;  // the estimates are 0 and −1: the mean of the squares, 0.5, minus 0.5²
  //]
}

double variance_with() {
  //[ the variance with b = 1
  //: return not_written_yet();
  return 0;  // −1 · ½ and 1 · (−½): both draws give −½
  //]
}

double variance_raised() {
  //[ the variance with b = 0 and the losses 10 and 12
  //: return not_written_yet();
  return 30.25;  // 10 · ½ = 5 and 12 · (−½) = −6: (25 + 36) / 2 − 0.25
  //]
}

double draws_for_as_much_noise() {
  //[ the number of draws in case 4
  //: return not_written_yet();
  return 121;  // √(30.25 / n) = 0.5: n is the variance divided by the squared gradient
  //]
}

double noisy_weight() {
  //[ the weight for the noisy scores 0.7 and 0.2, with τ = 0.5
  //: return not_written_yet();
  return 1 / (1 + std::exp(-1.0));  // softmax of (1.4, 0.4): only the difference, 0.5 / τ, matters
  //]
}

// hint: Write down the two estimates, one for each draw. Their mean is half of their sum.
// hint: The variance is the mean of the squares minus the square of the mean. What are the two estimates for
//   b = 1?
// hint: The mean of n draws has the variance ____ / n, and the standard error is its square root. Set it to
//   0.5.

// wrong: The sign is wrong. The first cell has the smaller loss, so a larger first score lowers the expected
//   loss.
// - return -0.5;
// + return 0.5;
// wrong: You left out the probability. The gradient is p₁ (L₁ − J), with p₁ = ½.
// - return -0.5;
// + return -1;
// wrong: You computed the mean of the squares. Subtract the square of the mean.
// - return 0.25;
// + return 0.5;
// wrong: You computed the variance of the losses, 0 and 2. The estimate is the loss times ½ or −½.
// - return 0.25;
// + return 1;
// wrong: A baseline does not change the mean, but it changes the variance. What are the two estimates for b =
//   1?
// - return 0;
// + return 0.25;
// wrong: Adding 10 does not change the mean, but it changes the variance. The estimates are now 5 and −6.
// - return 30.25;
// + return 0.25;
// wrong: You computed the mean of the squares of 5 and −6. Subtract the square of the mean.
// - return 30.25;
// + return 30.5;
// wrong: The standard error is √(30.25 / n). Set it to 0.5, which gives n = 30.25 / 0.5².
// - return 121;
// + return 60.5;
// wrong: You divided the square root of the variance by the gradient: 5.5 / 0.5. This is √n. Square it.
// - return 121;
// + return 11;
// wrong: You multiplied the scores with τ. Divide by τ: a small τ makes the weights more extreme.
// - return 1 / (1 + std::exp(-1.0));
// + return 1 / (1 + std::exp(-0.25));
// wrong: You forgot τ. Divide the noisy scores by 0.5 before the softmax.
// - return 1 / (1 + std::exp(-1.0));
// + return 1 / (1 + std::exp(-0.5));
// wrong: The straight-through form gives the weight 1 in the forward pass. The soft form is a mixture.
// - return 1 / (1 + std::exp(-1.0));
// + return 1;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/attention/hard.hpp"

namespace {

struct Moments {
  double mean, variance;
};

/// Moments of the library's estimate for the first of two equal scores, over both draws.
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
  judge.claim("predicts the mean", [&] { judge.predicted(mean_of_it(), plain.mean, "the mean"); });
  judge.claim("predicts the variance without a baseline",
              [&] { judge.predicted(variance_without(), plain.variance, "the variance"); });
  judge.claim("predicts the variance with a baseline", [&] {
    judge.predicted(variance_with(), moments({0, 2}, 1).variance, "the variance");
  });
  judge.claim("predicts the variance with larger losses",
              [&] { judge.predicted(variance_raised(), raised.variance, "the variance"); });
  judge.claim("predicts the number of draws", [&] {
    judge.predicted(draws_for_as_much_noise(), raised.variance / (raised.mean * raised.mean), "the draws");
  });
  judge.claim("predicts a weight of Gumbel-softmax", [&] {
    const Tensor noisy = tensor({0.7, 0.2}, DType::f64);
    judge.predicted(std::round(100 * noisy_weight()) / 100, softmax_with_temperature(0.5)(noisy, {}).at({0}),
                    "the weight");
  });
}
