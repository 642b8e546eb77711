// 28.2 own_loss: Sparsemax's loss
// derive, 20 minutes
//
// Weights can also be the probabilities of a classifier. Cross-entropy is −ln w_y, where w_y is the weight of the
// right answer y. Sparsemax can make w_y exactly 0, and then this loss is infinite. So Martins and Astudillo
// (2016, section 3) define another loss for sparsemax:
//
//     L(s, y) = max over w of (Σ_j w_j s_j − ½ Σ_j w_j²)  −  (s_y − ½)          w ≥ 0, Σ w = 1
//
// The maximum is at w = sparsemax(s). (Minus the expression in brackets is half of the squared distance from w to s,
// up to a constant.) The library has sparsemax(scores), along the last axis.
//
// The inputs are scores (B, n) and answers (B). In loss_of(), return L for each row, (B). In gradient_of(), return
// the gradient of the sum of L with respect to the scores, (B, n), without the tape.
#include "lessons/grader/answer.hpp"

Tensor loss_of(const Tensor& scores, const Indices& answers) {
  //[ a line or two
  //: static_cast<void>(scores.size(0)), static_cast<void>(answers.shape());
  //: return not_written_yet();
  const Tensor w = sparsemax(scores), right = one_hot(answers, scores.size(1), scores.dtype());
  return sum(w * scores - w * w / 2 - right * scores, {-1}) + 0.5;
  //]
}

Tensor gradient_of(const Tensor& scores, const Indices& answers) {
  //[ two lines
  //: static_cast<void>(scores.size(0)), static_cast<void>(answers.shape());
  //: return not_written_yet();
  const Tensor right = one_hot(answers, scores.size(1), scores.dtype());
  return sparsemax(scores) - right;  // at a maximum, ∂/∂w is 0 along the simplex: treat w as constant
  //]
}

// hint: At the maximum, a small change of w alone does not change Σ w s − ½ Σ w² (to first order). So you can treat w
//   as constant. Which derivative by s_j remains?
// hint: ∂/∂s_j of max (Σ w s − ½ Σ w²) is ____. The derivative of s_y is 1 for j = y and 0 otherwise:
//   one_hot(answers, n, dtype) has these numbers.
// hint: Compare with softmax and cross-entropy: their gradient is softmax(s) − one_hot(y). Here it is
//   ____ − one_hot(y).

// wrong: The sign is wrong. A score with too much weight must fall, so its gradient is positive.
// - return sparsemax(scores) - right;
// + return right - sparsemax(scores);
// wrong: That is the gradient of cross-entropy with softmax. Here the weights have exact zeros: a wrong key without
//   weight gets no gradient.
// - return sparsemax(scores) - right;
// + return softmax(scores, -1) - right;
// wrong: You set the gradient of keys outside the support to 0, as in sparsemax's rule. But the loss contains s_y
//   directly. So a right answer with weight 0 still gets a gradient, which is the purpose of this loss.
// - return sparsemax(scores) - right;
// + const Tensor w = sparsemax(scores), zero = scalar(0, w.dtype());
// + return where(less(zero, w), w - right, zero);
// wrong: Your gradient has only the term of s_y. The maximum depends on s as well, and its derivative is w.
// - return sparsemax(scores) - right;
// + return 0.0 - right;
// wrong: The ½ of s_y − ½ is missing. So even a right answer that has all the weight has a loss above its minimum, 0.
// - return sum(w * scores - w * w / 2 - right * scores, {-1}) + 0.5;
// + return sum(w * scores - w * w / 2 - right * scores, {-1});
// wrong: The ½ has the wrong sign: −(s_y − ½) is −s_y + ½.
// - return sum(w * scores - w * w / 2 - right * scores, {-1}) + 0.5;
// + return sum(w * scores - w * w / 2 - right * scores, {-1}) - 0.5;
// wrong: The sum of squares counts half: −½ Σ w². Without the ½, sparsemax(s) is not where the maximum is.
// - return sum(w * scores - w * w / 2 - right * scores, {-1}) + 0.5;
// + return sum(w * scores - w * w - right * scores, {-1}) + 0.5;
// wrong: That is the gradient of the mean over the rows. The task asks for the gradient of the sum.
// - return sparsemax(scores) - right;
// + return (sparsemax(scores) - right) / static_cast<double>(scores.size(0));
// wrong: This opens a tape. Compute the gradient without one: deriving it is the exercise.
// - return sparsemax(scores) - right;
// + const Tensor s = variable(scores.detach());
// + Tape tape;
// + tape.backward(sum(loss_of(s, answers)));
// + return s.grad() + 0 * right;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the loss from its definition: the largest value over the supports that sorting gives.
double of_row(std::vector<double> s, std::size_t y) {
  const double right = s[y];
  std::sort(s.rbegin(), s.rend());
  double best = 0, sum = 0;
  for (std::size_t k = 1; k <= s.size(); ++k) {
    sum += s[k - 1];
    const double tau = (sum - 1) / static_cast<double>(k);
    double value = 0;
    for (std::size_t j = 0; j < k; ++j) value += (s[j] - tau) * s[j] - (s[j] - tau) * (s[j] - tau) / 2;
    if (s[k - 1] > tau) best = value;
  }
  return best - right + 0.5;
}

std::vector<double> losses(const Tensor& scores, const Indices& answers) {
  const std::vector<std::int64_t> right = answers.to_vector();
  std::vector<double> all;
  for (std::size_t i = 0; i < right.size(); ++i)
    all.push_back(
        of_row(select(scores, 0, static_cast<Size>(i)).to_vector(), static_cast<std::size_t>(right[i])));
  return all;
}

Tensor by_differences(const Tensor& scores, const Indices& answers) {
  constexpr double kStep = 1e-6;
  std::vector<double> all, values = scores.to_vector();
  const auto total = [&] {
    double sum = 0;
    for (const double loss : losses(tensor(values, scores.shape(), DType::f64), answers)) sum += loss;
    return sum;
  };
  for (double& value : values) {
    const double old = value;
    value = old + kStep;
    const double up = total();
    value = old - kStep;
    all.push_back((up - total()) / (2 * kStep));
    value = old;
  }
  return tensor(all, scores.shape(), DType::f64);
}

void compare(Judge& judge, const Tensor& scores, const Indices& answers) {
  judge.same(loss_of(scores, answers).to_vector(), losses(scores, answers), "the loss");
  const auto gradient = judge.without_tape([&] { return gradient_of(scores, answers); });
  judge.same(gradient, by_differences(scores, answers), "the gradient", 1e-6);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("finds the loss of three keys and its gradient", [&] {
    judge.example("scores (1, 0.6, −2), the right answer is the last");
    compare(judge, tensor({{1, 0.6, -2}}, DType::f64), Indices{2});
  });
  judge.claim("finds both for any sizes", [&] {
    judge.each_size({{"rows", 1, 4}, {"keys", 1, 7}}, [&](const Sizes& n) {
      std::vector<std::int64_t> answers;
      for (Size i = 0; i < n[0]; ++i) answers.push_back(judge.random().below(n[1]));
      compare(judge, judge.normal({n[0], n[1]}), Indices(answers, {n[0]}));
    });
  });
}
