// 3.2 swings: Debug a descent that oscillates
// debug, 15 minutes
//
// The function below takes steps of gradient descent, w ← w − η g, and returns w after each step. g must be the
// gradient of the loss at the w of *this* step. The first step is right, but all later steps are wrong. Correct the
// function. You don't need to delete any line.
#include "lessons/grader/answer.hpp"

std::vector<Tensor> walk_downhill(const std::function<Tensor(const Tensor&)>& loss, const Tensor& start,
                                  double eta, int steps) {
  Tensor w = variable(start.detach() * 1.0, "w");  // a copy, because assign() changes it in place
  std::vector<Tensor> path;
  for (int step = 0; step < steps; ++step) {
    //[ correct these lines
    //: Tape tape;
    //: tape.backward(loss(w));
    //: assign(w, w.detach() - eta * w.grad());
    Tape tape;
    tape.backward(loss(w));
    assign(w, w.detach() - eta * w.grad());
    w.clear_grad();  // backward adds to the gradient that is stored
    //]
    path.push_back(w.detach() * 1.0);
  }
  return path;
}

// start: For the parabola loss = ½ w² with η = 0.1 from w = 1, w should be 0.9, 0.81, 0.729, … It is 0.9, 0.71,
//   0.449, … It passes the minimum, reaches −1 after nine steps, returns to 1 after nineteen, and keeps oscillating.
//   η is not too large: with a smaller η, w oscillates more slowly.
//
// hint: The loss is ½ w², so g should be w. The second step computes w = 0.71 = 0.9 − 0.1 · 1.9. Of which numbers
//   is 1.9 the sum?
// hint: w.grad() is 1 in the first step and 1.9 in the second, not 0.9. What does backward do if a gradient is already
//   stored? What clears the gradient when you use an optimiser from optim/?
// hint: Call w.clear_grad() after the gradient has been used, and before the next backward.
//
// wrong: The gradients of all steps still add up. A smaller learning rate only makes w oscillate more slowly. Print
//   w.grad() in the second step.
// - assign(w, w.detach() - eta * w.grad());
// - w.clear_grad();  // backward adds to the gradient that is stored
// + assign(w, w.detach() - 0.5 * eta * w.grad());
// wrong: You divide the sum of all gradients by the number of steps, which gives their mean. It still contains
//   gradients from earlier values of w.
// - assign(w, w.detach() - eta * w.grad());
// - w.clear_grad();  // backward adds to the gradient that is stored
// + assign(w, w.detach() - eta / (step + 1) * w.grad());
// wrong: A learning rate that falls only makes the oscillation smaller, and w may stop anywhere. w.grad() is still the
//   sum of all gradients.
// - assign(w, w.detach() - eta * w.grad());
// - w.clear_grad();  // backward adds to the gradient that is stored
// + assign(w, w.detach() - eta * std::pow(0.9, step) * w.grad());
// wrong: You clear the gradient once, after the first step. From the second step on, the gradients add up again.
// - w.clear_grad();  // backward adds to the gradient that is stored
// + if (step == 0) w.clear_grad();
// wrong: You reset w to the start before each step, so w never gets beyond the result of the first step.
// - w.clear_grad();  // backward adds to the gradient that is stored
// + path.push_back(w.detach() * 1.0);
// + w = variable(start.detach() * 1.0, "w");
// + w.clear_grad();
// + continue;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Descends on Σ ½ h w². Each step multiplies each element of w by 1 − η h.
Tensor by_loops(const std::vector<double>& start, const std::vector<double>& h, double eta, int steps) {
  std::vector<double> w = start;
  for (int step = 0; step < steps; ++step)
    for (std::size_t i = 0; i < w.size(); ++i) w[i] *= 1 - eta * h[i];
  return tensor(w, {static_cast<Size>(w.size())}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const auto walk = [&](const Tensor& start, const Tensor& h, double eta, int steps) {
    const std::vector<Tensor> path =
        walk_downhill([&](const Tensor& w) { return sum(0.5 * h * w * w); }, start, eta, steps);
    judge.same(Dims{static_cast<Size>(path.size())}, Dims{static_cast<Size>(steps)},
               "the number of steps that you return");
    for (int step = 0; step < steps; ++step)
      judge.same(path[static_cast<std::size_t>(step)],
                 by_loops(start.to_vector(), h.to_vector(), eta, step + 1),
                 "w after step " + std::to_string(step + 1));
  };
  judge.claim("descends on ½ w² and converges", [&] {
    judge.example("loss = ½ w², w = 1 at the start, η = 0.1");
    walk(ones({1}, DType::f64), ones({1}, DType::f64), 0.1, 40);
  });
  judge.claim("descends on any parabola, with several weights at once", [&] {
    judge.each_size({{"weights", 1, 4}, {"steps", 1, 9}}, [&](const Sizes& n) {
      walk(judge.normal({n[0]}), judge.uniform({n[0]}, 0.2, 3), 0.2, static_cast<int>(n[1]));
    });
  });
}
