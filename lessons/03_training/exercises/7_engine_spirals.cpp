// 3.7 engine_spirals: Milestone: your engine learns two spirals
// implement, 20 minutes, limit 60 s, fast
//
// This is the first milestone: a network that runs entirely on your engine. Write one training step for points x (B, 2)
// on two spirals, and their classes. The function creates a tape with the six weights as leaves. Add the network
//
//     h₁ = tanh(x W₁ + b₁)    h₂ = tanh(h₁ W₂ + b₂)    logits = h₂ W₃ + b₃,
//
// the loss, the backward pass, and a step of Adam. Return the loss before the step.
//
// The weights are, in this order: W₁ (2, n), b₁ (n), W₂ (n, n), b₂ (n), W₃ (n, 2), b₃ (2). The chapter's network is
// different in two ways: its matrices are transposed, and it uses relu instead of tanh.
//
// The judge compares the losses of a hundred steps with Tapestry's. Then a longer training run must learn to tell the
// spirals apart.
#include "engine/embedding.hpp"
#include "lessons/grader/answer.hpp"

double train_step(std::vector<engine::Array>& weights, engine::Adam& adam, const engine::Array& points,
                  const std::vector<int>& classes) {
  using engine::Value;
  engine::Tape tape;
  std::vector<Value> w;
  for (const engine::Array& weight : weights) w.push_back(tape.leaf(weight));
  const Value x = tape.leaf(points);
  //[ the network, the loss, backward and the step, about eight lines
  //: return not_written_yet();
  const Value h1 = engine::tanh(engine::matmul(x, w[0]) + w[1]);
  const Value h2 = engine::tanh(engine::matmul(h1, w[2]) + w[3]);
  const Value logits = engine::matmul(h2, w[4]) + w[5];
  const Value loss = engine::cross_entropy(logits, classes);
  tape.backward(loss);
  std::vector<engine::Array> gradients;
  for (const Value& weight : w) gradients.push_back(weight.gradient());
  adam.step(weights, gradients);
  return loss.array().data[0];
  //]
}

// hint: Write three lines for the network, one for the loss, and one for backward. Which arguments does adam.step()
//   need?
// hint: engine::matmul(x, w[0]) + w[1] is x W₁ + b₁. After backward(), w[k].gradient() is the gradient of weight k.
// hint: adam.step() needs the weights, and a std::vector<engine::Array> with the ____ of each w[k], in the same
//   order. The loss is a Value with one number, the first element of loss.array().data.
//
// wrong: The second layer has no tanh. Its matrix and the third could be replaced by their product, so a layer is lost.
// - const Value h2 = engine::tanh(engine::matmul(h1, w[2]) + w[3]);
// + const Value h2 = engine::matmul(h1, w[2]) + w[3];
// wrong: You use relu, as the chapter's network does. This network uses tanh.
// - const Value h1 = engine::tanh(engine::matmul(x, w[0]) + w[1]);
// - const Value h2 = engine::tanh(engine::matmul(h1, w[2]) + w[3]);
// + const Value h1 = engine::relu(engine::matmul(x, w[0]) + w[1]);
// + const Value h2 = engine::relu(engine::matmul(h1, w[2]) + w[3]);
// wrong: You apply tanh to the logits, which limits them to −1 to 1. The loss cannot become small.
// - const Value logits = engine::matmul(h2, w[4]) + w[5];
// + const Value logits = engine::tanh(engine::matmul(h2, w[4]) + w[5]);
// wrong: The logits lack b₃. Compute the loss from h₂ W₃ + b₃.
// - const Value logits = engine::matmul(h2, w[4]) + w[5];
// + const Value logits = engine::matmul(h2, w[4]) + w[5] * 0.0;
// wrong: The weights stay the same, so nothing is learned. Which call must change them?
// - adam.step(weights, gradients);
// + std::vector<engine::Array> copy = weights; adam.step(copy, gradients);

//= judge
#include "lessons/grader/judge/engine.hpp"

namespace {

using engine::Array;

struct Points {
  Array x;
  std::vector<int> classes;
};

/// Draws points on two arms that turn one and a quarter times around the centre, half a turn apart.
Points spirals(kit::Random& random, int count) {
  Points points{engine::filled({count, 2}, 0), {}};
  for (int i = 0; i < count; ++i) {
    const double t = random.uniform(0.1, 1), arm = i % 2 * 3.141592653589793, angle = 7.85 * t + arm;
    points.x.data[static_cast<std::size_t>(2 * i)] = t * std::cos(angle) + 0.02 * random.normal();
    points.x.data[static_cast<std::size_t>(2 * i + 1)] = t * std::sin(angle) + 0.02 * random.normal();
    points.classes.push_back(i % 2);
  }
  return points;
}

std::vector<Array> first_weights(kit::Random& random, int hidden) {
  const std::vector<std::vector<int>> shapes{{2, hidden}, {hidden},    {hidden, hidden},
                                             {hidden},    {hidden, 2}, {2}};
  std::vector<Array> weights;
  for (const std::vector<int>& shape : shapes) {
    weights.push_back(engine::filled(shape, 0));
    if (shape.size() == 2)
      for (double& w : weights.back().data) w = random.normal() / std::sqrt(shape[0]);
  }
  return weights;
}

Tensor logits_of(const std::vector<Tensor>& w, const Tensor& x) {
  const Tensor h1 = tapestry::tanh(tapestry::matmul(x, w[0]) + w[1]);
  const Tensor h2 = tapestry::tanh(tapestry::matmul(h1, w[2]) + w[3]);
  return tapestry::matmul(h2, w[4]) + w[5];
}

Indices indices_of(const std::vector<int>& classes) {
  const std::vector<std::int64_t> same(classes.begin(), classes.end());
  return Indices(same, {static_cast<Size>(same.size())});
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("has the same losses as Tapestry, step by step", [&] {
    for (const auto& [count, hidden, steps] : {std::array{4, 3, 2}, {32, 8, 100}}) {
      const Points points = spirals(judge.random(), count);
      std::vector<Array> weights = first_weights(judge.random(), hidden);
      for (Array& bias : weights)
        if (bias.shape.size() == 1)
          for (double& b : bias.data) b = 0.1 * judge.random().normal();
      std::vector<Tensor> theirs;
      for (const Array& weight : weights) theirs.push_back(variable(grader::tensor_of(weight)));
      engine::Adam adam{.rate = 0.01};
      tapestry::Adam same(theirs, {.learning_rate = 0.01});
      judge.example(std::to_string(count) + " points, " + std::to_string(hidden) + " hidden units");
      for (int step = 1; step <= steps; ++step) {
        const double came = train_step(weights, adam, points.x, points.classes);
        tapestry::Tape tape;
        const Tensor loss = tapestry::cross_entropy(logits_of(theirs, grader::tensor_of(points.x)),
                                                    indices_of(points.classes));
        tape.backward(loss);
        same.step();
        judge.same(came, loss.item(), "the loss at step " + std::to_string(step));
      }
    }
  });
  judge.claim("tells the spirals apart", [&] {
    const Points points = spirals(judge.random(), 200), fresh = spirals(judge.random(), 1000);
    std::vector<Array> weights = first_weights(judge.random(), 32);
    engine::Adam adam{.rate = 0.01};
    for (int step = 0; step < 1200; ++step) train_step(weights, adam, points.x, points.classes);
    std::vector<Tensor> w;
    for (const Array& weight : weights) w.push_back(grader::tensor_of(weight));
    const std::vector<double> logits = logits_of(w, grader::tensor_of(fresh.x)).to_vector();
    double right = 0;
    for (std::size_t i = 0; i < fresh.classes.size(); ++i)
      right += (logits[2 * i + 1] > logits[2 * i]) == (fresh.classes[i] == 1) ? 0.1 : 0;
    judge.example("1,200 steps on 200 points, then 1,000 new points");
    judge.between(right, 98, 100.001, "right answers, per cent");
  });
}
