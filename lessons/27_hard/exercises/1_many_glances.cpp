// 27.1 many_glances: one loss for several draws
// derive, 15 minutes
//
// For each question m cells are drawn, one after the other, all with the chances softmax(s) of one row of
// scores, and one loss L comes after all of them. Write the estimate of the gradient of the expected loss by
// the scores, (B, n), without the tape: scores (B, n), drawn (m tensors of ids, each (B)), losses (B), and a
// baseline b.
//
//     the chance of all draws is the product of their chances:     estimate = (L − b) ∂ ln(p_a1 · … · p_am) / ∂s
//
// A draw after which the loss was smaller than b must become likelier when one steps against the estimate.
#include "lessons/grader/answer.hpp"

Tensor estimate(const Tensor& scores, const std::vector<Indices>& drawn, const Tensor& losses, double b) {
  //[ a loop over the draws, and one product
  //: return not_written_yet();
  const Tensor p = softmax(scores, -1);
  Tensor slope = zeros(scores.shape(), scores.dtype());
  for (const Indices& a : drawn)
    slope = slope + one_hot(a, scores.size(-1), scores.dtype()) - p;  // ∂ ln p_a / ∂s_k = 1{k = a} − p_k
  return unsqueeze(losses - b, -1) * slope;                           // each row with its own loss
  //]
}

// hint: The logarithm of a product is a sum of logarithms. What is ∂ ln p_a / ∂s_k for one draw?
// hint: For one draw it is 1{k = a} − p_k; for m of them 1{k = a} is counted, and p_k is subtracted ____
//   times.
// hint: slope = slope + one_hot(a, n, dtype) - p in a loop; then unsqueeze(losses - b, -1) * ____.

// wrong: The sign is turned round: stepping against this makes a draw with a small loss less likely.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + return unsqueeze(b - losses, -1) * slope;
// wrong: −p_k is missing. The chances sum to 1, so what makes one key likelier takes from the others.
// - slope = slope + one_hot(a, scores.size(-1), scores.dtype()) - p;  // ∂ ln p_a / ∂s_k = 1{k = a} − p_k
// + slope = slope + one_hot(a, scores.size(-1), scores.dtype());
// wrong: That is the derivative of p_a. In the estimate stands that of ln p_a: the factor p_a has gone into
//   how often the key is drawn.
// - slope = slope + one_hot(a, scores.size(-1), scores.dtype()) - p;  // ∂ ln p_a / ∂s_k = 1{k = a} − p_k
// + {
// + const Tensor one = one_hot(a, scores.size(-1), scores.dtype());
// + slope = slope + sum(one * p, {-1}, Keep::yes) * (one - p);
// + }
// wrong: You subtract p once. Every draw brings a ln p of its own, so it is subtracted m times.
// - Tensor slope = zeros(scores.shape(), scores.dtype());
// + Tensor slope = static_cast<double>(drawn.size() - 1) * p;
// wrong: That is the mean over the draws. The logarithm of a product is their sum.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + return unsqueeze(losses - b, -1) * slope / static_cast<double>(drawn.size());
// wrong: Only the last draw counts in yours: each draw adds a ∂ ln p of its own.
// - slope = slope + one_hot(a, scores.size(-1), scores.dtype()) - p;  // ∂ ln p_a / ∂s_k = 1{k = a} − p_k
// + slope = one_hot(a, scores.size(-1), scores.dtype()) - p;
// wrong: The baseline is missing. It leaves the mean as it is, but not a single estimate.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + static_cast<void>(b);
// + return unsqueeze(losses, -1) * slope;
// wrong: The baseline is taken off the loss, before the product: (L − b) times the slope. Taken off at the end it
//   pulls all scores alike, whatever was drawn.
// - return unsqueeze(losses - b, -1) * slope;  // each row with its own loss
// + return unsqueeze(losses, -1) * slope - b;
// wrong: This opens a tape. It is asked for without one: the tape's rules are what you are to derive.
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

/// (L − b) times central differences of Σ ln p of the draws.
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
  judge.claim("estimates for two questions and two draws", [&] {
    judge.example("two questions, three cells, two draws that differ");
    compare(judge, 2, 3, 2, true);
  });
  judge.claim("estimates for any sizes", [&] {
    judge.each_size({{"questions", 1, 3}, {"cells", 2, 6}, {"draws", 1, 4}},
                    [&](const Sizes& n) { compare(judge, n[0], n[1], n[2]); });
  });
}
