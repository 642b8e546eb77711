// 28.2 own_loss: sparsemax's own loss
// derive, 20 minutes
//
// Cross-entropy is −ln w_y, where w_y is the weight of the right answer y. Sparsemax makes w_y exactly 0, and
// the loss infinite. So it has a loss of its own (Martins and Astudillo 2016, section 3):
//
//     L(s, y) = max over w of (Σ_j w_j s_j − ½ Σ_j w_j²)  −  (s_y − ½)          w ≥ 0, Σ w = 1
//
// The largest value is where w = sparsemax(scores), a function of the library's along the last axis: it is the nearest
// point to s. Given scores (B, n) and answers (B), write L (B), and then, without the tape, the gradient of L's sum by
// the scores (B, n).
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
  return sparsemax(scores) - right;  // at a maximum a change of w changes nothing: let it stand still
  //]
}

// hint: At its largest value, what does a small change of w alone do to Σ w s − ½ Σ w²? So what is left when s
//   moves a little?
// hint: ∂/∂s_j of max (Σ w s − ½ Σ w²) is ____, and of s_y it is 1 for j = y and else 0. one_hot(answers, n, dtype)
//   has these numbers.
// hint: Compare with softmax and cross-entropy: there the gradient is softmax(s) − one_hot(y). Here it is ____ −
//   one_hot(y).

// wrong: The sign: a score that gets weight it should not have must be pulled down, so its gradient is positive.
// - return sparsemax(scores) - right;
// + return right - sparsemax(scores);
// wrong: That is the gradient of softmax's loss. This one has exact zeros: who has no weight is left alone.
// - return sparsemax(scores) - right;
// + return softmax(scores, -1) - right;
// wrong: You held drowned keys still, as sparsemax's own rule does. But s_y stands in the loss itself: a right
//   answer without weight is pulled up. That is what this loss is for.
// - return sparsemax(scores) - right;
// + const Tensor w = sparsemax(scores), zero = scalar(0, w.dtype());
// + return where(less(zero, w), w - right, zero);
// wrong: The gradient has the term of s_y alone. The largest value moves with s as well, by w.
// - return sparsemax(scores) - right;
// + return 0.0 - right;
// wrong: The ½ of s_y − ½ is missing, and a right answer that has all the weight still has a loss.
// - return sum(w * scores - w * w / 2 - right * scores, {-1}) + 0.5;
// + return sum(w * scores - w * w / 2 - right * scores, {-1});
// wrong: The sign of the ½: −(s_y − ½) is −s_y + ½.
// - return sum(w * scores - w * w / 2 - right * scores, {-1}) + 0.5;
// + return sum(w * scores - w * w / 2 - right * scores, {-1}) - 0.5;
// wrong: The squares count half: −½ Σ w². Without the ½ the point that you took is not where the value is
//   largest.
// - return sum(w * scores - w * w / 2 - right * scores, {-1}) + 0.5;
// + return sum(w * scores - w * w - right * scores, {-1}) + 0.5;
// wrong: That is the gradient of the mean over rows. It is asked for by the sum of the losses.
// - return sparsemax(scores) - right;
// + return (sparsemax(scores) - right) / static_cast<double>(scores.size(0));
// wrong: This opens a tape. It is asked for without one: the tape's rules are what you are to derive.
// - return sparsemax(scores) - right;
// + const Tensor s = variable(scores.detach());
// + Tape tape;
// + tape.backward(sum(loss_of(s, answers)));
// + return s.grad() + 0 * right;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// By its definition: the largest value over the supports that sorting gives.
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
  judge.claim("knows the loss of three keys, and where it pulls", [&] {
    judge.example("scores (1, 0.6, −2), the right answer is the last");
    compare(judge, tensor({{1, 0.6, -2}}, DType::f64), Indices{2});
  });
  judge.claim("knows them for any sizes", [&] {
    judge.each_size({{"rows", 1, 4}, {"keys", 1, 7}}, [&](const Sizes& n) {
      std::vector<std::int64_t> answers;
      for (Size i = 0; i < n[0]; ++i) answers.push_back(judge.random().below(n[1]));
      compare(judge, judge.normal({n[0], n[1]}), Indices(answers, {n[0]}));
    });
  });
}
