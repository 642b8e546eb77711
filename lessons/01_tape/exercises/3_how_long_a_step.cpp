// 1.3 how_long_a_step: what a learning rate does
// predict, 15 minutes
//
// Gradient descent, w ← w − η ∂loss/∂w, on the parabola loss = (w − 3)² from w = 0. Predict where w stands
// after one step with η = 0.25, after eleven steps with η = 1, and after two steps with η = 1.1. Then the
// same for a line through 0 with points x = 1, 2, 3: below which η does loss = mean of (w x_i − y_i)²
// converge, whatever the y_i? Formulas are welcome.
#include "lessons/grader/answer.hpp"

double after_one_step_of_a_quarter() {
  //[ w after one step with η = 0.25
  //: return not_written_yet();
  return 0 - 0.25 * 2 * (0 - 3);  // ∂loss/∂w = 2 (w − 3) = −6 at w = 0
  //]
}

double after_eleven_steps_of_one() {
  //[ w after eleven steps with η = 1
  //: return not_written_yet();
  return 6;  // w − 3 is multiplied by 1 − 2η = −1 in each step: 0, 6, 0, 6, …
  //]
}

double after_two_steps_of_more() {
  //[ w after two steps with η = 1.1
  //: return not_written_yet();
  return 3 - 3 * 1.2 * 1.2;  // w − 3 is multiplied by 1 − 2.2 = −1.2: −3, 3.6, −4.32
  //]
}

double largest_rate_of_the_line() {
  //[ the η below which descent converges for x = 1, 2, 3
  //: return not_written_yet();
  return 3 / 14.0;  // the factor is 1 − 2η · mean(x²), and mean(x²) = 14/3; above −1 for η < 1 / mean(x²)
  //]
}

// hint: What is ∂loss/∂w at w = 0? Walk the first steps with pencil and paper.
// hint: Put w − 3 in place of w: one step is (w − 3) ← (1 − ____ η) (w − 3). When does a number that is
//   multiplied by the same factor again and again go to 0?
// hint: The line's ∂loss/∂w is mean of 2 x_i (w x_i − y_i), so w enters with 2 · mean(x²). The factor 1 −
//   2η · mean(x²) must lie between −1 and 1.
//
// wrong: The 2 of the square is missing: the derivative of (w − 3)² is 2 (w − 3).
// - return 0 - 0.25 * 2 * (0 - 3);
// + return 0.75;
// wrong: You stepped along the gradient, uphill. At w = 0 the gradient is −6, and the step goes against it.
// - return 0 - 0.25 * 2 * (0 - 3);
// + return -1.5;
// wrong: That is how far the lowest point is. One step with η = 0.25 goes 0.25 · 6 of it; η = 0.5 would
//   arrive at once.
// - return 0 - 0.25 * 2 * (0 - 3);
// + return 3;
// wrong: That is the gradient's length, or the step with η = 1. Here a quarter of it is taken.
// - return 0 - 0.25 * 2 * (0 - 3);
// + return 6;
// wrong: It never comes to rest at 3. With η = 1 a step is 2 (3 − w), twice the way to the lowest point:
//   where does it end, and where the next?
// - return 6;
// + return 3;
// wrong: It does come back to 0, but after every second step. Is eleven even?
// - return 6;
// + return 0;
// wrong: It does not get away either: on the other side the gradient points back, just as long.
// - return 6;
// + return 66;
// wrong: It does not converge. The first step goes from 0 to 6.6, farther from 3 than before, and the next
//   is longer still.
// - return 3 - 3 * 1.2 * 1.2;
// + return 3;
// wrong: That is after one step. Over there the gradient is 2 (6.6 − 3) = 7.2, with the other sign.
// - return 3 - 3 * 1.2 * 1.2;
// + return 6.6;
// wrong: You took the first gradient twice. After the first step w is 6.6, and the gradient there is
//   another one.
// - return 3 - 3 * 1.2 * 1.2;
// + return 13.2;
// wrong: The distance from 3 is right and the side is not: each step crosses over to the other side. Where does
//   the second one end?
// - return 3 - 3 * 1.2 * 1.2;
// + return 3 + 3 * 1.2 * 1.2;
// wrong: C++ divides whole numbers without the fraction, so 3 / 14 is 0: write one of them as 14.0.
// - return 3 / 14.0;
// + return 3 / 14;
// wrong: 1 is right for (w − 3)². Here w is multiplied by x_i before the square, which makes the parabola
//   steeper by the mean of x².
// - return 3 / 14.0;
// + return 1;
// wrong: That is the best rate, which arrives in one step. Twice as long a step ends as far on the other
//   side; below that it still converges.
// - return 3 / 14.0;
// + return 3 / 28.0;
// wrong: You summed where the loss is a mean: 1 / Σx² is a third of it.
// - return 3 / 14.0;
// + return 1 / 14.0;
// wrong: You took the mean of x, 2, and not of x². The gradient has x_i twice: once from w x_i, and once
//   from the chain rule.
// - return 3 / 14.0;
// + return 1 / 2.0;
// wrong: You squared the mean of x, 4. It is the mean of the squares that counts: (1 + 4 + 9) / 3.
// - return 3 / 14.0;
// + return 1 / 4.0;
// wrong: You counted the 2 of the derivative once too little: the factor is 1 − 2η · mean(x²), and it must
//   stay above −1.
// - return 3 / 14.0;
// + return 3 / 7.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Where w stands after `steps` steps from `w`, by the tape, for mean of (w x_i − y_i)².
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
  judge.claim("foretells a step", [&] {
    judge.predicted(after_one_step_of_a_quarter(), on_the_parabola(0.25, 1), "w after a step with η = 0.25",
                    kExactly);
  });
  judge.claim("foretells what η = 1 does", [&] {
    judge.predicted(after_eleven_steps_of_one(), on_the_parabola(1, 11), "w after eleven steps with η = 1",
                    kExactly);
  });
  judge.claim("foretells what η = 1.1 does", [&] {
    judge.predicted(after_two_steps_of_more(), on_the_parabola(1.1, 2), "w after two steps with η = 1.1",
                    kExactly);
  });
  judge.claim("foretells which rates converge on a line", [&] {
    const Tensor x = tensor({1, 2, 3}, DType::f64), y = zeros({3}, DType::f64);
    double converges = 0, diverges = 2;  // with 12 halvings: to 0.0005
    for (int i = 0; i < 12; ++i) {
      const double rate = (converges + diverges) / 2;
      (std::abs(descended(1, x, y, rate, 100)) < 1 ? converges : diverges) = rate;
    }
    judge.predicted(largest_rate_of_the_line(), (converges + diverges) / 2, "the largest rate", 0.001);
  });
}
