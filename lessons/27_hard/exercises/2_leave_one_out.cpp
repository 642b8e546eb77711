// 27.2 leave_one_out: A leave-one-out baseline
// implement, 10 minutes
//
// Suppose that m cells are drawn for one question, and each draw has its own loss. Then there is a good
// baseline for each draw: the mean loss of the m − 1 *other* draws for the same question (Mnih and Rezende
// 2016; Kool and others 2019).
//
// There are B questions, with m ≥ 2 draws each. losses (B, m) are the losses, and log_p (B, m) are the ln p of
// the drawn cells.
// Return the surrogate loss (B, m), whose gradient is the estimate:
//
//     L_i + (L_i − b_i) ln p_i           b_i = 1/(m − 1) Σ_{j ≠ i} L_j
//
// No gradient may flow through the factor (L_i − b_i).
#include "lessons/grader/answer.hpp"

Tensor surrogate(const Tensor& losses, const Tensor& log_p) {
  //[ three lines
  //: return not_written_yet();
  const Tensor fixed = losses.detach();  // no gradient may flow through the factor
  const auto others = static_cast<double>(losses.size(-1) - 1);
  const Tensor b = (sum(fixed, {-1}, Keep::yes) - fixed) / others;  // the question's draws, except draw i
  return losses + (fixed - b) * log_p;
  //]
}

// hint: The sum over the other draws is the sum over all draws, minus ____.
// hint: sum(fixed, {-1}, Keep::yes) has the shape (B, 1) and broadcasts. Subtract fixed, and divide by ____.
// hint: Return losses + (fixed - b) * log_p, where fixed = losses.detach().

// wrong: Your mean contains the draw's own loss. So the baseline depends on the draw, and the estimate is
//   biased: too small by the factor (m − 1)/m.
// - const Tensor b = (sum(fixed, {-1}, Keep::yes) - fixed) / others;  // the question's draws, except draw i
// + static_cast<void>(others);
// + const Tensor b = mean(fixed, {-1}, Keep::yes);
// wrong: You left the draw's own loss out of the sum, but you still divide by m.
// - const Tensor b = (sum(fixed, {-1}, Keep::yes) - fixed) / others;  // the question's draws, except draw i
// + const Tensor b = (sum(fixed, {-1}, Keep::yes) - fixed) / (others + 1);
// wrong: The other draws are those of the same question, along the last axis. You summed over the questions.
// - const Tensor b = (sum(fixed, {-1}, Keep::yes) - fixed) / others;  // the question's draws, except draw i
// + const Tensor b = (sum(fixed, {0}, Keep::yes) - fixed) / others;
// wrong: You used the sum of the other losses. The baseline is their mean.
// - const Tensor b = (sum(fixed, {-1}, Keep::yes) - fixed) / others;  // the question's draws, except draw i
// + static_cast<void>(others);
// + const Tensor b = sum(fixed, {-1}, Keep::yes) - fixed;
// wrong: The value is right, but a gradient flows through the factor, so ln p changes the gradient of the
//   losses. Detach the losses in the factor.
// - const Tensor fixed = losses.detach();  // no gradient may flow through the factor
// + const Tensor fixed = losses;
// wrong: You detached L in the first term. The gradient of this term trains the part of the model that uses
//   the value.
// - return losses + (fixed - b) * log_p;
// + return fixed + (fixed - b) * log_p;
// wrong: The first term, L, is missing. So the part of the model that uses the value gets no gradient.
// - return losses + (fixed - b) * log_p;
// + return (fixed - b) * log_p;
// wrong: Your factor has the wrong sign. It must be L − b, so that a loss above the baseline makes its draw
//   less likely.
// - return losses + (fixed - b) * log_p;
// + return losses + (b - fixed) * log_p;
// wrong: A gradient flows through the baseline, because b is computed from the losses. Detach them there too.
// - const Tensor b = (sum(fixed, {-1}, Keep::yes) - fixed) / others;  // the question's draws, except draw i
// + const Tensor b = (sum(losses, {-1}, Keep::yes) - losses) / others;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes L_i − b_i in loops, (B, m).
Tensor factors(const Tensor& losses) {
  const Size batch = losses.size(0), draws = losses.size(1);
  std::vector<double> all;
  for (Size row = 0; row < batch; ++row)
    for (Size i = 0; i < draws; ++i) {
      double sum = 0;
      for (Size j = 0; j < draws; ++j) sum += j == i ? 0 : losses.at({row, j});
      all.push_back(losses.at({row, i}) - sum / static_cast<double>(draws - 1));
    }
  return tensor(all, {batch, draws}, DType::f64);
}

void compare(Judge& judge, Size batch, Size draws) {
  const Tensor losses = judge.normal({batch, draws}), log_p = judge.uniform({batch, draws}, -4, -0.1);
  judge.same(surrogate(losses, log_p), losses + factors(losses) * log_p, "the result");
}

void compare_gradients(Judge& judge, Size batch, Size draws) {
  const Tensor losses = variable(judge.normal({batch, draws})),
               log_p = variable(judge.uniform({batch, draws}, -4, -0.1));
  Tape tape;
  const Tensor y = surrogate(losses, log_p);
  const Tensor dy = judge.normal(y.shape());
  const auto came = tape.gradients(y, dy, std::vector{losses, log_p});
  judge.same(came[0], dy, "the gradient of the losses");
  judge.same(came[1], dy * factors(losses.detach()), "the gradient of ln p");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("returns the losses plus the weighted ln p", [&] {
    judge.example("two questions, three draws");
    compare(judge, 2, 3);
  });
  judge.claim("has the right gradients for the losses and for ln p", [&] {
    judge.example("two questions, three draws");
    compare_gradients(judge, 2, 3);
  });
  judge.claim("is right for any sizes", [&] {
    judge.each_size({{"questions", 1, 4}, {"draws", 2, 6}},
                    [&](const Sizes& n) {
                      compare(judge, n[0], n[1]);
                      compare_gradients(judge, n[0], n[1]);
                    },
                    {.f32 = false});
  });
}
