// 13.2 pull_on_p: The gradient of a position
// derive, 15 minutes
//
// In local-p, the weight of key j at step t is α_tj = c_tj · exp(−(j − p_t)² / 2σ²). Here c_tj is the softmax
// inside the window, and σ = D/2. As long as no key enters or leaves the window, c does not change with p.
//
// You are given the weights α (B, Tq, S), the positions p (B, Tq), D as `reach`, and G (B, Tq, S), the gradient
// of the loss with respect to the weights. Compute the gradient of the loss with respect to p, (B, Tq), without
// the tape:
//
//     ∂L/∂p_t = Σ_j G_tj · ∂α_tj/∂p_t
//
// If the loss falls when a key to the right of p_t gets more weight, gradient descent must move p_t to the
// right.
#include "lessons/grader/answer.hpp"

Tensor pull_on_p(const Tensor& weights, const Tensor& p, Size reach, const Tensor& g) {
  //[ three lines
  //: return not_written_yet();
  const double sigma = static_cast<double>(reach) / 2;
  const Tensor away = arange(0, static_cast<double>(weights.size(-1)), 1, p.dtype()) - unsqueeze(p, -1);
  return sum(g * weights * away / (sigma * sigma), {-1});  // ∂α/∂p = α (j − p) / σ²
  //]
}

// hint: What is the derivative of exp(f(p)) with respect to p? And what is the derivative of f(p) = −(j − p)² /
//   2σ²?
// hint: The derivative of −(j − p)² / 2σ² with respect to p is + (j − p) / ____. And c · exp(…) is α again.
// hint: Return sum(g * weights * away / (…), {-1}), where away = j − p_t has the shape (B, Tq, S).
//
// wrong: The sign is wrong. If the loss asks for more of a key on the right, your p moves to the left. The
//   inner derivative of (j − p)² with respect to p brings a factor −1.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum(g * weights * away / (-sigma * sigma), {-1});
// wrong: You divide by 2σ². The derivative of the square brings a factor 2, which cancels the 2 in the
//   denominator.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum(g * weights * away / (2 * sigma * sigma), {-1});
// wrong: You divide by σ, not by σ². With D = 2, where σ is 1, you would not notice the difference.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum(g * weights * away / sigma, {-1});
// wrong: You use σ = D. It should be σ = D/2.
// - const double sigma = static_cast<double>(reach) / 2;
// + const double sigma = static_cast<double>(reach);
// wrong: The weights are missing. The derivative of exp(f) contains exp(f) itself. In your formula, a key
//   outside the window has the largest effect on p, because it is farthest away.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum(g * away / (sigma * sigma), {-1});
// wrong: You use the rule of softmax and subtract the weighted sum of G. But the weights are not normalised
//   after the fade, so a larger fade for one key takes nothing from the other keys.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum((g - sum(g * weights, {-1}, Keep::yes)) * weights * away / (sigma * sigma), {-1});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the weights of one query at one p by the formula.
std::vector<double> weights_at(const std::vector<double>& scores, double p, double d) {
  std::vector<double> weights;
  double sum = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double away = static_cast<double>(j) - p;
    const double inside = std::abs(away) <= d ? std::exp(scores[j]) : 0;
    sum += inside;
    weights.push_back(inside * std::exp(-away * away / (2 * (d / 2) * (d / 2))));
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Compares with central differences. Each p is anywhere in the source, at least 0.1 from a whole number.
void compare(Judge& judge, Size batch, Size queries, Size keys, Size reach) {
  const Tensor scores = judge.normal({batch, queries, keys}), g = judge.normal({batch, queries, keys});
  const auto d = static_cast<double>(reach);
  std::vector<double> positions, weights, slopes;
  for (Size b = 0; b < batch; ++b)
    for (Size t = 0; t < queries; ++t) {
      const double p = static_cast<double>(judge.random().below(keys)) + judge.random().uniform(0.1, 0.9);
      const auto row = select(select(scores, 0, b), 0, t).to_vector();
      const auto loss = [&](double at) {
        const std::vector<double> a = weights_at(row, at, d);
        double sum = 0;
        for (Size j = 0; j < keys; ++j) sum += a[static_cast<std::size_t>(j)] * g.at({b, t, j});
        return sum;
      };
      constexpr double kStep = 1e-5;
      positions.push_back(p);
      for (const double weight : weights_at(row, p, d)) weights.push_back(weight);
      slopes.push_back((loss(p + kStep) - loss(p - kStep)) / (2 * kStep));
    }
  judge.same(pull_on_p(tensor(weights, {batch, queries, keys}, DType::f64),
                       tensor(positions, {batch, queries}, DType::f64), reach, g),
             tensor(slopes, {batch, queries}, DType::f64), "the gradient", 1e-7);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes the gradient for one query", [&] {
    judge.example("one query, six keys, D = 3");
    compare(judge, 1, 1, 6, 3);
  });
  judge.claim("agrees with central differences for other sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"queries", 1, 3}, {"keys", 1, 7}, {"D", 1, 4}},
                    [&](const Sizes& n) { compare(judge, n[0], n[1], n[2], n[3]); }, {.f32 = false});
  });
}
