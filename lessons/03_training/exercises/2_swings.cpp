// 3.2 swings: a descent that never comes to rest
// debug, 15 minutes
//
// The function below takes steps of gradient descent, w ← w − η g, and returns where w was after each. Here g
// is the gradient of the loss at the w of *this* step. It works for one step. After that something is wrong:
// mend it. No line that stands there needs to go.
#include "lessons/grader/answer.hpp"

std::vector<Tensor> walk_downhill(const std::function<Tensor(const Tensor&)>& loss, const Tensor& start,
                                  double eta, int steps) {
  Tensor w = variable(start.detach() * 1.0, "w");  // a copy: assign() changes it in place
  std::vector<Tensor> path;
  for (int step = 0; step < steps; ++step) {
    //[ mend it
    //: Tape tape;
    //: tape.backward(loss(w));
    //: assign(w, w.detach() - eta * w.grad());
    Tape tape;
    tape.backward(loss(w));
    assign(w, w.detach() - eta * w.grad());
    w.clear_grad();  // backward adds to what is there
    //]
    path.push_back(w.detach() * 1.0);
  }
  return path;
}

// start: On the parabola loss = ½ w² with η = 0.1 from w = 1, w should be 0.9, 0.81, 0.729, … It is 0.9,
//   0.71, 0.449, … It runs through the lowest point to −1 after nine steps, is back at 1 after nineteen, and
//   swings so for ever. The rate is not too large: with a smaller one it swings more slowly.
//
// hint: The loss is ½ w², so g is w. After the second step w = 0.71 = 0.9 − 0.1 · 1.9. What is 1.9 the sum
//   of?
// hint: w.grad() is 1 in the first step and 1.9 in the second, not 0.9. What does backward do with a gradient
//   that is there already? Who clears it where optim/'s optimisers are used?
// hint: There is w.clear_grad(). It belongs after the gradient was used, and before the next backward.
//
// wrong: Still all gradients so far add up: a smaller rate only makes it swing more slowly. See what
//   w.grad() is in the second step.
// - assign(w, w.detach() - eta * w.grad());
// - w.clear_grad();  // backward adds to what is there
// + assign(w, w.detach() - 0.5 * eta * w.grad());
// wrong: Dividing by the number of steps makes the sum of all gradients their average. It still holds
//   gradients from places that w has left long ago.
// - assign(w, w.detach() - eta * w.grad());
// - w.clear_grad();  // backward adds to what is there
// + assign(w, w.detach() - eta / (step + 1) * w.grad());
// wrong: A rate that falls from step to step only makes the swings smaller, wherever w happens to be. What is added
//   up in w.grad() is still there.
// - assign(w, w.detach() - eta * w.grad());
// - w.clear_grad();  // backward adds to what is there
// + assign(w, w.detach() - eta * std::pow(0.9, step) * w.grad());
// wrong: You clear it once, after the first step. From then on it adds up again.
// - w.clear_grad();  // backward adds to what is there
// + if (step == 0) w.clear_grad();
// wrong: Now w jumps back to the start before each step, so it never gets further than the first one.
// - w.clear_grad();  // backward adds to what is there
// + path.push_back(w.detach() * 1.0);
// + w = variable(start.detach() * 1.0, "w");
// + w.clear_grad();
// + continue;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Descent on Σ ½ h w², one number after the other: each is multiplied by 1 − η h in each step.
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
               "the number of places that came back");
    for (int step = 0; step < steps; ++step)
      judge.same(path[static_cast<std::size_t>(step)],
                 by_loops(start.to_vector(), h.to_vector(), eta, step + 1),
                 "w after step " + std::to_string(step + 1));
  };
  judge.claim("walks down ½ w² and stays down", [&] {
    judge.example("loss = ½ w², w = 1 at the start, η = 0.1");
    walk(ones({1}, DType::f64), ones({1}, DType::f64), 0.1, 40);
  });
  judge.claim("walks down any parabola, in many weights at once", [&] {
    judge.each_size({{"weights", 1, 4}, {"steps", 1, 9}}, [&](const Sizes& n) {
      walk(judge.normal({n[0]}), judge.uniform({n[0]}, 0.2, 3), 0.2, static_cast<int>(n[1]));
    });
  });
}
