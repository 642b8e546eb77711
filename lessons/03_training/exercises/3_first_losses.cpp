// 3.3 first_losses: figures to know before a training
// predict, 15 minutes
//
// Whoever knows a figure beforehand sees a mistake at once. Predict three losses (cross-entropy, averaged
// over the batch, natural logarithms), and one step: the first loss of ten classes if the last layer is zero; the first
// loss if its bias knows the classes' shares; and the lowest that is left if softmax is called twice. Formulas are
// welcome: std::log(2.0), std::exp(1.0). The step is that of an Adam whose author forgot to divide m and v by 1 − βᵗ, with β₁ = 0.9, β₂ = 0.999, and
// without ε: w ← w − η m / √v.
#include "lessons/grader/answer.hpp"

double first_loss_of_ten_classes() {
  //[ the first loss of a network with ten classes, its last layer at zero
  //: return not_written_yet();
  return std::log(10.0);  // each class gets 1/10, whatever the point
  //]
}

double first_loss_of_a_bias_that_knows() {
  //[ shares of the classes 1/2, 1/4, 1/8, 1/8; the last bias begins with their logarithms, its matrix with 0
  //: return not_written_yet();
  return 1.75 * std::log(2.0);  // Σ share · −log share: 1/2 · 1 + 1/4 · 2 + 1/8 · 3 + 1/8 · 3, times log 2
  //]
}

double lowest_loss_from_probabilities() {
  //[ the lowest loss with ten classes if softmax is called twice: cross_entropy is given probabilities as its logits
  //: return not_written_yet();
  return std::log(std::exp(1.0) + 9) - 1;  // at best a 1 and nine zeros, and these count as logits
  //]
}

double first_step_without_correction() {
  //[ the length of that Adam's first step, as a multiple of η, for a gradient of −5
  //: return not_written_yet();
  return 0.1 / std::sqrt(0.001);  // m = 0.1 g, v = 0.001 g²: 3.16
  //]
}

// hint: −log p of the true class, averaged over the points. What is p of each class, in each of the cases?
// hint: With the logarithms of the shares as logits, softmax gives the shares. Half of the points then lose
//   −log 1/2, a quarter −log ____, and so on.
// hint: Probabilities are at best (1, 0, …, 0). Taken as logits, e^1 stands against nine times e^____.
// hint: m and v begin at 0. After one step m = (1 − β₁) g and v = ____ g².
//
// wrong: You took two classes, as the spirals have. Ten classes share the probability.
// - return std::log(10.0);
// + return std::log(2.0);
// wrong: The sign: log p is negative, since p is less than 1, and the loss is −log p.
// - return std::log(10.0);
// + return std::log(0.1);
// wrong: You took the logarithm to base 2. The loss is made of natural ones; it is the unit that differs, by
//   log 2 = 0.693.
// - return std::log(10.0);
// + return std::log2(10.0);
// wrong: That is the probability of the true class. The loss is its negative logarithm.
// - return std::log(10.0);
// + return 0.1;
// wrong: You took log ¼, as for a bias of zeros. This bias knows which classes are common, and is right more
//   often.
// - return 1.75 * std::log(2.0);
// + return std::log(4.0);
// wrong: You averaged over the classes. The loss averages over points, and half of them are of the first
//   class.
// - return 1.75 * std::log(2.0);
// + return 2.25 * std::log(2.0);
// wrong: You took the logarithm of the mean probability. It is the logarithms that are averaged.
// - return 1.75 * std::log(2.0);
// + return -std::log(0.25 + 0.0625 + 0.015625 + 0.015625);
// wrong: You counted in bits, with logarithms to base 2. The loss has natural ones: multiply by log 2.
// - return 1.75 * std::log(2.0);
// + return 1.75;
// wrong: With logits it could come as near to 0 as you like. But probabilities lie between 0 and 1, so the
//   true class can be ahead of the others by no more than 1.
// - return std::log(std::exp(1.0) + 9) - 1;
// + return 0;
// wrong: That is the first loss: with all probabilities 1/10 nothing differs. It is then, and only then, that
//   the mistake does not show. Training lowers it; how far?
// - return std::log(std::exp(1.0) + 9) - 1;
// + return std::log(10.0);
// wrong: That is for two classes, 1 against 0. Ten classes have nine zeros, and each counts e⁰ = 1.
// - return std::log(std::exp(1.0) + 9) - 1;
// + return std::log(std::exp(1.0) + 1) - 1;
// wrong: You left out the nine others, or gave them e^{−∞}. They have probability 0, and as a logit 0 is e⁰ =
//   1.
// - return std::log(std::exp(1.0) + 9) - 1;
// + return std::log(std::exp(1.0) + 9);
// wrong: That is Adam's first step as it should be: with the correction g / √g² is ±1. Without it m and v are
//   too small, and not by the same factor.
// - return 0.1 / std::sqrt(0.001);
// + return 1;
// wrong: The root is missing: v is a thousandth of g², but the step is divided by √v.
// - return 0.1 / std::sqrt(0.001);
// + return 0.1 / 0.001;
// wrong: You took v as it is and m as if it were g. After one step m is (1 − β₁) g, a tenth of it.
// - return 0.1 / std::sqrt(0.001);
// + return 1 / std::sqrt(0.001);
// wrong: You took m as it is and v as if it were g². After one step v is (1 − β₂) g², a thousandth of it.
// - return 0.1 / std::sqrt(0.001);
// + return 0.1;
// wrong: The 5 is still in it. m and √v both have it, and their ratio does not.
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
  judge.claim("foretells the first loss of ten classes", [&] {
    Linear last{{}, 3, 10, Bias::yes, zeros};
    last.initialise(1, DType::f64);
    const double loss = cross_entropy(last(judge.normal({2, 3})), Indices({4, 7})).item();
    judge.predicted(first_loss_of_ten_classes(), loss, "the first loss");
  });
  judge.claim("foretells the first loss of a bias that knows the shares", [&] {
    const Tensor bias = log(tensor({0.5, 0.25, 0.125, 0.125}, DType::f64));
    const double loss = cross_entropy(expand(bias, {8, 4}), Indices({0, 0, 0, 0, 1, 1, 2, 3})).item();
    judge.predicted(first_loss_of_a_bias_that_knows(), loss, "the first loss");
  });
  judge.claim("foretells how far the loss can fall if softmax is called twice", [&] {
    const Tensor sure = softmax(one_row({0, 0, 60, 0, 0, 0, 0, 0, 0, 0}), -1);
    judge.predicted(lowest_loss_from_probabilities(), cross_entropy(sure, Indices({2})).item(),
                    "the lowest loss");
  });
  judge.claim("foretells Adam's first step without its correction", [&] {
    double m = 0, v = 0;
    m = 0.9 * m + 0.1 * -5;
    v = 0.999 * v + 0.001 * 25;
    judge.predicted(first_step_without_correction(), std::abs(m) / std::sqrt(v), "the step, in η");
  });
}
