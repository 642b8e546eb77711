// 3.7 engine_spirals: milestone: your engine learns two spirals
// implement, 20 minutes, limit 60 s, fast
//
// The first milestone: a network that runs on nothing but your engine. Write one step of training for points x (B, 2) of
// two spirals, with their classes: a tape with the six weights as leaves, the network
//
//     h₁ = tanh(x W₁ + b₁)    h₂ = tanh(h₁ W₂ + b₂)    logits = h₂ W₃ + b₃,
//
// the loss, backward, and a step of Adam. The weights are W₁ (2, n), b₁ (n), W₂ (n, n), b₂ (n), W₃ (n, 2), b₃ (2), in this
// order, so nothing is transposed, as it is in the chapter, and tanh stands where the chapter has relu. Return the loss before
// the step. Then every loss of a hundred steps has to be the one that Tapestry has, and a longer training has to tell
// the spirals apart.
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

// hint: Three lines for the network, one for the loss, one for backward, and what does adam.step() want?
// hint: engine::matmul(x, w[0]) + w[1] is x W₁ + b₁; w[k].gradient() is there after backward().
// hint: The step wants a std::vector<engine::Array> beside the weights, with the ____ of each w[k] in their order. The loss
//   is a Value with one number, and loss.array().data is a list.
//
// wrong: The second layer has no tanh: its product with the third is one matrix, and the network loses a layer.
// - const Value h2 = engine::tanh(engine::matmul(h1, w[2]) + w[3]);
// + const Value h2 = engine::matmul(h1, w[2]) + w[3];
// wrong: relu bends the layers here, as in the chapter's network. This one has tanh.
// - const Value h1 = engine::tanh(engine::matmul(x, w[0]) + w[1]);
// - const Value h2 = engine::tanh(engine::matmul(h1, w[2]) + w[3]);
// + const Value h1 = engine::relu(engine::matmul(x, w[0]) + w[1]);
// + const Value h2 = engine::relu(engine::matmul(h1, w[2]) + w[3]);
// wrong: The logits go through a tanh, which keeps them between −1 and 1: the loss cannot become small.
// - const Value logits = engine::matmul(h2, w[4]) + w[5];
// + const Value logits = engine::tanh(engine::matmul(h2, w[4]) + w[5]);
// wrong: The loss is one of logits without b₃: h₂ W₃ + b₃ is what it has to be computed from.
// - const Value logits = engine::matmul(h2, w[4]) + w[5];
// + const Value logits = engine::matmul(h2, w[4]) + w[5] * 0.0;
// wrong: Nothing is learned: the weights stay as they are. What changes them?
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

/// Two arms that turn once and a quarter round the centre, half a turn apart.
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
  judge.claim("has Tapestry's losses, step by step", [&] {
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
    judge.example("1,200 steps on 200 points, then 1,000 new ones");
    judge.between(right, 98, 100.001, "right answers, per cent");
  });
}
