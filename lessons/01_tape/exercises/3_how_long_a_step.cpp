// 1.3 how_long_a_step: The effect of the learning rate
// predict, 15 minutes
//
// Gradient descent repeats the step w ← w − η ∂loss/∂w. On the parabola loss = (w − 3)², it starts at w = 0. Predict
// the value of w after one step with η = 0.25, after eleven steps with η = 1, and after two steps with η = 1.1.
//
// Then take a line through the origin and the points with x = 1, 2, 3. Here the loss is the mean of (w x_i − y_i)².
// Below which η does gradient descent converge, whatever the y_i are? You may return a formula instead of a number.
#include "lessons/grader/answer.hpp"

double w_after_one_step() {
  //[ w after one step with η = 0.25
  //: return not_written_yet();
  return 0 - 0.25 * 2 * (0 - 3);  // ∂loss/∂w = 2 (w − 3) = −6 at w = 0
  //]
}

double w_after_eleven_steps() {
  //[ w after eleven steps with η = 1
  //: return not_written_yet();
  return 6;  // w − 3 is multiplied by 1 − 2η = −1 in each step: 0, 6, 0, 6, …
  //]
}

double w_after_two_steps() {
  //[ w after two steps with η = 1.1
  //: return not_written_yet();
  return 3 - 3 * 1.2 * 1.2;  // w − 3 is multiplied by 1 − 2.2 = −1.2: −3, 3.6, −4.32
  //]
}

double largest_learning_rate() {
  //[ the η below which descent converges for x = 1, 2, 3
  //: return not_written_yet();
  return 3 / 14.0;  // the factor is 1 − 2η · mean(x²), and mean(x²) = 14/3; above −1 for η < 1 / mean(x²)
  //]
}

// hint: What is ∂loss/∂w at w = 0? Compute the first steps with pencil and paper.
// hint: Use w − 3 in place of w. One step is (w − 3) ← (1 − ____ η) (w − 3). A number is multiplied by the same
//   factor in each step. For which factors does it approach 0?
// hint: For the line, ∂loss/∂w is the mean of 2 x_i (w x_i − y_i), in which w has the factor 2 · mean(x²). So one step
//   has the factor 1 − 2η · mean(x²), which must lie between −1 and 1.
//
// wrong: The factor 2 from the square is missing. The derivative of (w − 3)² is 2 (w − 3).
// - return 0 - 0.25 * 2 * (0 - 3);
// + return 0.75;
// wrong: You took a step along the gradient, which goes uphill. At w = 0 the gradient is −6, and the step must go
//   against it.
// - return 0 - 0.25 * 2 * (0 - 3);
// + return -1.5;
// wrong: You return the minimum. One step with η = 0.25 moves w by 0.25 · 6, which is half of the distance. A step with
//   η = 0.5 would reach the minimum at once.
// - return 0 - 0.25 * 2 * (0 - 3);
// + return 3;
// wrong: You return the size of the gradient, which is the step for η = 1. For η = 0.25 the step is a quarter of it.
// - return 0 - 0.25 * 2 * (0 - 3);
// + return 6;
// wrong: w does not converge to 3. With η = 1 a step is 2 (3 − w), twice the distance to the minimum. Where does the
//   first step end, and where does the second step end?
// - return 6;
// + return 3;
// wrong: w does return to 0, but only after an even number of steps. Eleven is odd.
// - return 6;
// + return 0;
// wrong: w does not diverge. On the other side of the minimum, the gradient has the same size and the opposite sign.
// - return 6;
// + return 66;
// wrong: w does not converge. The first step goes from 0 to 6.6, which is farther from 3 than 0 is. The second step is
//   longer than the first.
// - return 3 - 3 * 1.2 * 1.2;
// + return 3;
// wrong: You return w after one step. At w = 6.6 the gradient is 2 (6.6 − 3) = 7.2, so the second step goes back.
// - return 3 - 3 * 1.2 * 1.2;
// + return 6.6;
// wrong: You used the first gradient for both steps. After the first step w is 6.6, and the gradient at 6.6 is
//   different from the gradient at 0.
// - return 3 - 3 * 1.2 * 1.2;
// + return 13.2;
// wrong: The distance from 3 is right, but w is on the other side of 3. Each step crosses the minimum. On which side is
//   w after two steps?
// - return 3 - 3 * 1.2 * 1.2;
// + return 3 + 3 * 1.2 * 1.2;
// wrong: In C++ the division of two integers drops the fraction, so 3 / 14 is 0. Write 14.0.
// - return 3 / 14.0;
// + return 3 / 14;
// wrong: 1 is right for (w − 3)². In the loss of the line, w is multiplied by x_i before the square. That makes the
//   parabola steeper by the factor mean(x²).
// - return 3 / 14.0;
// + return 1;
// wrong: You return the best η, which reaches the minimum in a single step. With twice this η, w ends equally far away
//   on the other side of the minimum. For any η between 0 and that value, descent converges.
// - return 3 / 14.0;
// + return 3 / 28.0;
// wrong: The loss is a mean, but you used the sum: 1 / Σx² is a third of 1 / mean(x²).
// - return 3 / 14.0;
// + return 1 / 14.0;
// wrong: You used the mean of x, which is 2, instead of the mean of x². The gradient contains x_i twice: once in w x_i,
//   and once from the chain rule.
// - return 3 / 14.0;
// + return 1 / 2.0;
// wrong: You squared the mean of x, which gives 4. Use the mean of the squares, (1 + 4 + 9) / 3.
// - return 3 / 14.0;
// + return 1 / 4.0;
// wrong: A factor 2 is missing: the derivative of the square has one. A step has the factor 1 − 2η · mean(x²), which
//   must stay above −1.
// - return 3 / 14.0;
// + return 3 / 7.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns w after `steps` steps from `from`, computed with the tape, for the mean of (w x_i − y_i)².
double descended(double from, const Tensor& x, const Tensor& y, double rate, int steps) {
  Tensor w = variable(scalar(from, DType::f64), "w");
  for (int step = 0; step < steps; ++step) {
    Tape tape;
    const Tensor error = w * x - y;
    tape.backward(mean(error * error));
    assign(w, w.detach() - rate * w.grad());
    w.clear_grad();
  }
  return w.item();
}

double on_the_parabola(double rate, int steps) {
  return descended(0, ones({1}, DType::f64), tensor({3}, DType::f64), rate, steps);
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kExactly = 1e-6;
  judge.claim("predicts w after one step with η = 0.25", [&] {
    judge.predicted(w_after_one_step(), on_the_parabola(0.25, 1), "w after one step with η = 0.25", kExactly);
  });
  judge.claim("predicts w after eleven steps with η = 1", [&] {
    judge.predicted(w_after_eleven_steps(), on_the_parabola(1, 11), "w after eleven steps with η = 1",
                    kExactly);
  });
  judge.claim("predicts w after two steps with η = 1.1", [&] {
    judge.predicted(w_after_two_steps(), on_the_parabola(1.1, 2), "w after two steps with η = 1.1", kExactly);
  });
  judge.claim("predicts which learning rates converge for the line", [&] {
    const Tensor x = tensor({1, 2, 3}, DType::f64), y = zeros({3}, DType::f64);
    double converges = 0, diverges = 2;  // with 12 halvings: to 0.0005
    for (int i = 0; i < 12; ++i) {
      const double rate = (converges + diverges) / 2;
      (std::abs(descended(1, x, y, rate, 100)) < 1 ? converges : diverges) = rate;
    }
    judge.predicted(largest_learning_rate(), (converges + diverges) / 2, "the largest rate", 0.001);
  });
}
