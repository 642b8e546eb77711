// 27.1 many_glances: REINFORCE for several draws
// derive, 15 minutes
//
// For each question, m cells are drawn independently, with the probabilities p = softmax(s), where s is a row
// of scores. After all draws there is one loss L. Compute the REINFORCE estimate of the gradient of the
// expected loss with respect to the scores, (B, n). Do not use a tape.
//
// Let a1 … am be the drawn cells. The probability of all draws together is the product of their
// probabilities, so
//
//     estimate = (L − b) ∂ ln(p_a1 · … · p_am) / ∂s
//
// The arguments are scores (B, n), drawn (m tensors of cell numbers, each (B)), losses (B), and a baseline b.
// If the loss is below b, a step against the estimate must make the draws more likely.
#include "lessons/grader/answer.hpp"

Tensor estimate(const Tensor& scores, const std::vector<Indices>& drawn, const Tensor& losses, double b) {
  //[ a loop over the draws, and one product
  //: return not_written_yet();
  const Tensor p = softmax(scores, -1);
  Tensor slope = zeros(scores.shape(), scores.dtype());
  for (const Indices& a : drawn)
    slope = slope + one_hot(a, scores.size(-1), scores.dtype()) - p;  // ∂ ln p_a / ∂s_k = δ_ak − p_k
  return unsqueeze(losses - b, -1) * slope;                           // each row with its own loss
  //]
}

// hint: The logarithm of a product is a sum of logarithms. What is ∂ ln p_a / ∂s_k for one draw?
// hint: For one draw, the derivative is δ_ak − p_k, where δ_ak is 1 if a = k, and 0 otherwise. For m draws, add
//   up δ_ak over the draws, and subtract p_k ____ times.
// hint: Add slope = slope + one_hot(a, n, dtype) - p in a loop. Then return unsqueeze(losses - b, -1) * ____.

// wrong: The sign is wrong. A step against your estimate makes a draw with a small loss less likely.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + return unsqueeze(b - losses, -1) * slope;
// wrong: You left out −p_k. The probabilities sum to 1, so when one key becomes more likely, the others
//   become less likely.
// - slope = slope + one_hot(a, scores.size(-1), scores.dtype()) - p;  // ∂ ln p_a / ∂s_k = δ_ak − p_k
// + slope = slope + one_hot(a, scores.size(-1), scores.dtype());
// wrong: You used the derivative of p_a. The estimate needs the derivative of ln p_a. The factor p_a is
//   already there, because key a is drawn with the probability p_a.
// - slope = slope + one_hot(a, scores.size(-1), scores.dtype()) - p;  // ∂ ln p_a / ∂s_k = δ_ak − p_k
// + {
// + const Tensor one = one_hot(a, scores.size(-1), scores.dtype());
// + slope = slope + sum(one * p, {-1}, Keep::yes) * (one - p);
// + }
// wrong: You subtract p once. Each of the m draws has its own ln p, so subtract p m times.
// - Tensor slope = zeros(scores.shape(), scores.dtype());
// + Tensor slope = static_cast<double>(drawn.size() - 1) * p;
// wrong: You take the mean over the draws. The logarithm of a product is the sum of the logarithms.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + return unsqueeze(losses - b, -1) * slope / static_cast<double>(drawn.size());
// wrong: Only the last draw counts in your estimate. Add ∂ ln p for each draw.
// - slope = slope + one_hot(a, scores.size(-1), scores.dtype()) - p;  // ∂ ln p_a / ∂s_k = δ_ak − p_k
// + slope = one_hot(a, scores.size(-1), scores.dtype()) - p;
// wrong: The baseline is missing. It does not change the mean, but it changes every single estimate.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + static_cast<void>(b);
// + return unsqueeze(losses, -1) * slope;
// wrong: You subtract the baseline after the product. Subtract it from the loss before you multiply: (L − b)
//   times the slope. Your version changes the gradients of all scores by −b, whatever was drawn.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + return unsqueeze(losses, -1) * slope - b;
// wrong: You use a tape. The task asks for the estimate without one, because you are to derive the rule
//   yourself.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + const Tensor s = variable(scores.detach());
// + Tape tape;
// + Tensor total = scalar(0, scores.dtype());
// + for (const Indices& a : drawn) total = total + sum(log_softmax(s, -1) * one_hot(a, s.size(-1), s.dtype()), {-1});
// + tape.backward(sum((losses - b) * total));
// + return s.grad() + 0 * slope;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes (L − b) times the central differences of Σ ln p of the draws.
void compare(Judge& judge, Size batch, Size keys, Size draws, bool differ = false) {
  const Tensor scores = judge.normal({batch, keys}), losses = judge.normal({batch});
  std::vector<Indices> drawn;
  for (Size t = 0; t < draws; ++t) {
    std::vector<std::int64_t> ids;
    for (Size row = 0; row < batch; ++row) {
      ids.push_back(judge.random().below(keys));
      if (differ && t > 0)
        ids.back() =
            (drawn.back().to_vector().at(static_cast<std::size_t>(row)) + 1 + ids.back() % (keys - 1)) % keys;
    }
    drawn.emplace_back(ids, Dims{batch});
  }
  const double b = std::round(judge.random().uniform(0.5, 2) * 100) / 100;
  std::vector<double> wanted;
  for (Size row = 0; row < batch; ++row) {
    std::vector<double> s = select(scores, 0, row).to_vector();
    const auto log_chance = [&] {
      double total = 0, sum = 0;
      for (const double x : s) total += std::exp(x);
      for (const Indices& a : drawn)
        sum += s[static_cast<std::size_t>(a.to_vector()[static_cast<std::size_t>(row)])] - std::log(total);
      return sum;
    };
    constexpr double kStep = 1e-5;
    for (double& x : s) {
      const double at = x;
      x = at + kStep;
      const double up = log_chance();
      x = at - kStep;
      const double down = log_chance();
      x = at;
      wanted.push_back((losses.at({row}) - b) * (up - down) / (2 * kStep));
    }
  }
  const auto came = judge.without_tape([&] { return estimate(scores, drawn, losses, b); });
  judge.same(came, tensor(wanted, {batch, keys}, DType::f64), "the estimate", 1e-7);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes the estimate for two questions and two draws", [&] {
    judge.example("two questions, three cells, two draws that differ");
    compare(judge, 2, 3, 2, true);
  });
  judge.claim("computes the estimate for any sizes", [&] {
    judge.each_size({{"questions", 1, 3}, {"cells", 2, 6}, {"draws", 1, 4}},
                    [&](const Sizes& n) { compare(judge, n[0], n[1], n[2]); });
  });
}
