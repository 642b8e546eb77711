// 3.3 first_losses: Losses to know before training
// predict, 15 minutes
//
// If you know a number before you train, you notice a mistake at once. Predict three losses: cross-entropy, averaged
// over the batch, with natural logarithms. The first is the first loss with ten classes, if the last layer is zero. The
// second is the first loss if the bias of the last layer starts with the logarithms of the classes' frequencies. The
// third is the lowest possible loss if softmax is called twice by mistake.
//
// Then predict one step of an Adam whose author forgot to divide m and v by 1 − βᵗ: w ← w − η m / √v, with β₁ = 0.9,
// β₂ = 0.999 and without ε.
//
// You may return a formula, for example std::log(2.0) or std::exp(1.0).
#include "lessons/grader/answer.hpp"

double first_loss_of_ten_classes() {
  //[ the first loss of a network with ten classes, its last layer at zero
  //: return not_written_yet();
  return std::log(10.0);  // each class has the probability 1/10, for every point
  //]
}

double first_loss_with_log_frequencies() {
  //[ shares of the classes 1/2, 1/4, 1/8, 1/8; the last bias begins with their logarithms, its matrix with 0
  //: return not_written_yet();
  return 1.75 * std::log(2.0);  // Σ −f log f = (1/2 · 1 + 1/4 · 2 + 1/8 · 3 + 1/8 · 3) log 2
  //]
}

double lowest_loss_with_two_softmaxes() {
  //[ the lowest loss with ten classes if softmax is called twice: cross_entropy is given probabilities as its logits
  //: return not_written_yet();
  return std::log(std::exp(1.0) + 9) - 1;  // at best the logits are a 1 and nine zeros
  //]
}

double first_step_without_correction() {
  //[ the length of that Adam's first step, as a multiple of η, for a gradient of −5
  //: return not_written_yet();
  return 0.1 / std::sqrt(0.001);  // m = 0.1 g, v = 0.001 g²: 3.16
  //]
}

// hint: The loss is −log p of the true class, averaged over the points. What is p of each class in each case?
// hint: If the logits are the logarithms of the frequencies, softmax returns the frequencies. Half of the points then
//   have the loss −log 1/2, a quarter −log ____, and so on.
// hint: The best possible probabilities are (1, 0, …, 0). As logits, they give e^1 for one class and e^____ for nine.
// hint: m and v start at 0. After one step, m = (1 − β₁) g and v = ____ g².
//
// wrong: You assumed two classes, as in the lesson. Here there are ten.
// - return std::log(10.0);
// + return std::log(2.0);
// wrong: The sign is wrong. log p is negative, because p is less than 1, and the loss is −log p.
// - return std::log(10.0);
// + return std::log(0.1);
// wrong: You used the logarithm to base 2. The loss uses the natural logarithm, which differs by the factor log 2 =
//   0.693.
// - return std::log(10.0);
// + return std::log2(10.0);
// wrong: You return the probability of the true class. The loss is its negative logarithm.
// - return std::log(10.0);
// + return 0.1;
// wrong: You used log 4, as for a bias of zeros. This bias contains the frequencies of the classes, so its predictions
//   are better.
// - return 1.75 * std::log(2.0);
// + return std::log(4.0);
// wrong: You averaged over the classes. The loss is a mean over points, and half of the points are of the first class.
// - return 1.75 * std::log(2.0);
// + return 2.25 * std::log(2.0);
// wrong: You used the logarithm of the mean probability. The loss is the mean of the logarithms.
// - return 1.75 * std::log(2.0);
// + return -std::log(0.25 + 0.0625 + 0.015625 + 0.015625);
// wrong: You used logarithms to base 2. The loss uses natural logarithms, so multiply by log 2.
// - return 1.75 * std::log(2.0);
// + return 1.75;
// wrong: With ordinary logits, the loss could approach 0. But probabilities lie between 0 and 1, so as logits, the true
//   class can be larger than the others by at most 1.
// - return std::log(std::exp(1.0) + 9) - 1;
// + return 0;
// wrong: You return the first loss, when all probabilities are 1/10. Only this first loss hides the mistake. Training
//   lowers the loss. How far?
// - return std::log(std::exp(1.0) + 9) - 1;
// + return std::log(10.0);
// wrong: Your formula is for two classes, 1 and 0. With ten classes there are nine zeros, and each contributes e⁰ = 1.
// - return std::log(std::exp(1.0) + 9) - 1;
// + return std::log(std::exp(1.0) + 1) - 1;
// wrong: You left out the logit of the true class. The loss is log Σ_k e^{z_k} − z_y, and z_y is 1.
// - return std::log(std::exp(1.0) + 9) - 1;
// + return std::log(std::exp(1.0) + 9);
// wrong: You return the first step of the correct Adam, where g / √g² is ±1. Without the correction, m and v are
//   too small, and by different factors.
// - return 0.1 / std::sqrt(0.001);
// + return 1;
// wrong: The root is missing. v is a thousandth of g², but the step is divided by √v.
// - return 0.1 / std::sqrt(0.001);
// + return 0.1 / 0.001;
// wrong: You used the right v, but g instead of m. After one step, m is (1 − β₁) g, a tenth of g.
// - return 0.1 / std::sqrt(0.001);
// + return 1 / std::sqrt(0.001);
// wrong: You used the right m, but g² instead of v. After one step, v is (1 − β₂) g², a thousandth of g².
// - return 0.1 / std::sqrt(0.001);
// + return 0.1;
// wrong: Your result still contains the 5. Both m and √v are proportional to |g|, so g cancels in their ratio.
// - return 0.1 / std::sqrt(0.001);
// + return 5 * 0.1 / std::sqrt(0.001);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Tensor one_row(const std::vector<double>& logits) {
  return tensor(logits, {1, static_cast<Size>(logits.size())}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("predicts the first loss with ten classes", [&] {
    Linear last{{}, 3, 10, Bias::yes, zeros};
    last.initialise(1, DType::f64);
    const double loss = cross_entropy(last(judge.normal({2, 3})), Indices({4, 7})).item();
    judge.predicted(first_loss_of_ten_classes(), loss, "the first loss");
  });
  judge.claim("predicts the first loss with a bias of log frequencies", [&] {
    const Tensor bias = log(tensor({0.5, 0.25, 0.125, 0.125}, DType::f64));
    const double loss = cross_entropy(expand(bias, {8, 4}), Indices({0, 0, 0, 0, 1, 1, 2, 3})).item();
    judge.predicted(first_loss_with_log_frequencies(), loss, "the first loss");
  });
  judge.claim("predicts the lowest loss if softmax is called twice", [&] {
    const Tensor sure = softmax(one_row({0, 0, 60, 0, 0, 0, 0, 0, 0, 0}), -1);
    judge.predicted(lowest_loss_with_two_softmaxes(), cross_entropy(sure, Indices({2})).item(),
                    "the lowest loss");
  });
  judge.claim("predicts Adam's first step without the correction", [&] {
    double m = 0, v = 0;
    m = 0.9 * m + 0.1 * -5;
    v = 0.999 * v + 0.001 * 25;
    judge.predicted(first_step_without_correction(), std::abs(m) / std::sqrt(v), "the step, in η");
  });
}
