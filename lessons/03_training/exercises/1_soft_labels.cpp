// 3.1 soft_labels: The gradient for soft labels
// derive, 15 minutes
//
// Labels may be wrong. A loss with soft labels allows for that: for a point of class y, the target is 1 − ε for class
// y, and the remaining ε is divided equally among all C classes, including y:
//
//     t_bc = (1 − ε) 1{c = y_b} + ε / C        loss = 1/B Σ_b Σ_c −t_bc log p_bc,    p = softmax(z)
//
// Here b is a point of a batch of B, and 1{…} is 1 if the condition holds and 0 otherwise.
//
// Derive the gradient ∂loss/∂z with respect to the logits z. Return it with the shape of z, (B, C). one_hot(labels, C,
// type) has the shape (B, C), with 1 at class y_b and 0 elsewhere. softmax(z, axis) is the softmax over an axis.
#include "lessons/grader/answer.hpp"

Tensor soft_gradient(const Tensor& z, const Indices& labels, double epsilon) {
  const double rows = static_cast<double>(z.size(0)), classes = static_cast<double>(z.size(1));
  const Tensor hard = one_hot(labels, z.size(1), z.dtype());  // 1 where c = y_b
  //[ two lines; rows is B, classes is C
  //: (void)rows, (void)classes;
  //: return not_written_yet();
  const Tensor t = (1 - epsilon) * hard + epsilon / classes;  // each row adds up to 1
  return (softmax(z, -1) - t) / rows;                         // predicted minus target probabilities
  //]
}

// hint: With ε = 0 this is the lesson's loss. What was its gradient? Which part of it came from the label?
// hint: −Σ_c t_c log p_c = Σ_c t_c · (log Σ_k e^{z_k} − z_c) = log Σ_k e^{z_k} − Σ_c t_c z_c, because the t_c add up to
//   1. The derivative of the first term with respect to z_c is ____, and that of the second term is ____.
// hint: t = (1 − ε) hard + ε / C is a single line of tensors. The gradient is (____ − t) / ____.
//
// wrong: You use hard labels, which is the gradient for ε = 0. With ε, the target of the true class is only 1 − ε +
//   ε / C.
// - const Tensor t = (1 - epsilon) * hard + epsilon / classes;
// + const Tensor t = hard;
// wrong: Your targets add up to more than 1. The true class keeps its 1, and you add ε / C to it. Only 1 − ε is
//   left for the true class before ε / C is added.
// - const Tensor t = (1 - epsilon) * hard + epsilon / classes;
// + const Tensor t = hard + epsilon / classes;
// wrong: You divided ε among the C − 1 other classes. That is another definition. Here the true class gets ε / C, too.
// - const Tensor t = (1 - epsilon) * hard + epsilon / classes;
// + const Tensor t = (1 - epsilon) * hard + epsilon / (classes - 1) * (1 - hard);
// wrong: You give each class the whole of ε. Each class gets ε / C.
// - const Tensor t = (1 - epsilon) * hard + epsilon / classes;
// + const Tensor t = (1 - epsilon) * hard + epsilon;
// wrong: The sign is wrong. If p is larger than t, the logit must fall. A step goes against the gradient, so the
//   gradient must be positive there.
// - return (softmax(z, -1) - t) / rows;
// + return (t - softmax(z, -1)) / rows;
// wrong: Your gradient is right for a single point. The loss of a batch is a mean, so each row must be divided by B.
// - return (softmax(z, -1) - t) / rows;
// + return softmax(z, -1) - t + 0 * rows;
// wrong: You divided by B and by C. The loss is a mean over the points, but a sum over the classes.
// - return (softmax(z, -1) - t) / rows;
// + return (softmax(z, -1) - t) / (rows * classes);
// wrong: Your softmax runs over the points of the batch, so each column adds up to 1. It must run over the classes, the
//   last axis.
// - return (softmax(z, -1) - t) / rows;
// + return (softmax(z, 0) - t) / rows;
// wrong: You use the logits where the probabilities belong. The derivative of log Σ_k e^{z_k} with respect to z_c is
//   e^{z_c} / Σ_k e^{z_k}.
// - return (softmax(z, -1) - t) / rows;
// + return (z - t) / rows;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the loss of the task with loops; z has rows of `classes` numbers.
double loss_by_loops(const std::vector<double>& z, const std::vector<std::int64_t>& labels,
                     std::size_t classes, double epsilon) {
  double loss = 0;
  for (std::size_t b = 0; b < labels.size(); ++b) {
    double total = 0;
    for (std::size_t c = 0; c < classes; ++c) total += std::exp(z[b * classes + c]);
    for (std::size_t c = 0; c < classes; ++c) {
      double share = epsilon / static_cast<double>(classes);
      if (c == static_cast<std::size_t>(labels[b])) share += 1 - epsilon;
      loss -= share * std::log(std::exp(z[b * classes + c]) / total);
    }
  }
  return loss / static_cast<double>(labels.size());
}

/// Returns the central differences of the loss.
Tensor by_differences(const Tensor& z, const std::vector<std::int64_t>& labels, double epsilon) {
  const auto classes = static_cast<std::size_t>(z.size(1));
  std::vector<double> at = z.to_vector(), slopes;
  constexpr double kStep = 1e-5;
  for (double& number : at) {
    const double middle = number;
    number = middle + kStep;
    const double above = loss_by_loops(at, labels, classes, epsilon);
    number = middle - kStep;
    slopes.push_back((above - loss_by_loops(at, labels, classes, epsilon)) / (2 * kStep));
    number = middle;
  }
  return tensor(slopes, z.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const auto gradient = [&](Size batch, Size classes, double epsilon) {
    const Tensor z = judge.normal({batch, classes});
    std::vector<std::int64_t> labels;
    for (Size b = 0; b < batch; ++b) labels.push_back(judge.random().below(classes));
    judge.same(soft_gradient(z, Indices(labels, {batch}), epsilon), by_differences(z, labels, epsilon),
               "the gradient", 1e-8);
  };
  judge.claim("computes the gradient for one point and three classes", [&] {
    judge.example("one point, three classes, ε = 0.3; the expected numbers are central differences");
    gradient(1, 3, 0.3);
  });
  judge.claim("computes the gradient for any batch size, number of classes and ε", [&] {
    judge.each_size({{"B", 1, 5}, {"C", 2, 6}, {"tenths of ε", 0, 9}},
                    [&](const Sizes& n) { gradient(n[0], n[1], static_cast<double>(n[2]) / 10); });
  });
}
