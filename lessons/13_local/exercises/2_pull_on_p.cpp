// 13.2 pull_on_p: how a position learns
// derive, 15 minutes
//
// In local-p a weight is α_tj = c_tj · exp(−(j − p_t)² / 2σ²), where c_tj is the softmax inside the window
// and σ = D/2. Off the window's edges c does not change with p. Given the weights α (B, Tq, S), p (B, Tq), D,
// and the loss's gradient G with respect to the weights (B, Tq, S), write the loss's gradient with respect to
// p, (B, Tq), without the tape:
//
//     ∂L/∂p_t = Σ_j G_tj · ∂α_tj/∂p_t
//
// A loss that would fall with more weight to the right of p_t must get a p_t that moves to the right.
#include "lessons/grader/answer.hpp"

Tensor pull_on_p(const Tensor& weights, const Tensor& p, Size reach, const Tensor& g) {
  //[ three lines
  //: return not_written_yet();
  const double sigma = static_cast<double>(reach) / 2;
  const Tensor away = arange(0, static_cast<double>(weights.size(-1)), 1, p.dtype()) - unsqueeze(p, -1);
  return sum(g * weights * away / (sigma * sigma), {-1});  // ∂α/∂p = α (j − p) / σ²
  //]
}

// hint: What is the derivative of exp(f(p)) with respect to p? And of f(p) = −(j − p)² / 2σ²?
// hint: d/dp of −(j − p)² / 2σ² is + (j − p) / ____, and exp(…) times c is α again.
// hint: sum(g * weights * away / (…), {-1}), with away = j − p_t as (B, Tq, S).
//
// wrong: The sign is turned round: a loss that wants more of the key on the right gets a p that moves to the
//   left. (j − p)² has the inner derivative −1 with respect to p.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum(g * weights * away / (-sigma * sigma), {-1});
// wrong: You divide by 2σ². The 2 cancels with the one that the derivative of the square brings.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum(g * weights * away / (2 * sigma * sigma), {-1});
// wrong: You divide by σ and not by σ². With D = 2, where σ is 1, nobody sees it.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum(g * weights * away / sigma, {-1});
// wrong: σ is D/2, and you took D.
// - const double sigma = static_cast<double>(reach) / 2;
// + const double sigma = static_cast<double>(reach);
// wrong: The weights are missing: exp(…) stays in its own derivative. As it is, a key outside the window
//   pulls hardest, since it is farthest away.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum(g * away / (sigma * sigma), {-1});
// wrong: You took softmax's rule and subtracted the mean of G. These weights are not normalised after the
//   fade: more for one key takes nothing from the others.
// - return sum(g * weights * away / (sigma * sigma), {-1});
// + return sum((g - sum(g * weights, {-1}, Keep::yes)) * weights * away / (sigma * sigma), {-1});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The weights of one query at one p, by the formula.
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

/// Compares with central differences. p is anywhere in the source, 0.1 or more from a whole number.
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
  judge.claim("gives the derivative for one query", [&] {
    judge.example("one query, six keys, D = 3");
    compare(judge, 1, 1, 6, 3);
  });
  judge.claim("gives the derivatives that differences give, for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"queries", 1, 3}, {"keys", 1, 7}, {"D", 1, 4}},
                    [&](const Sizes& n) { compare(judge, n[0], n[1], n[2], n[3]); }, {.f32 = false});
  });
}
