// 3.1 soft_labels: the gradient of a loss that believes no label quite
// derive, 15 minutes
//
// Labels may be wrong. So let a point of class y be true to it only by 1 − ε, and share out ε equally over
// all C classes, y among them:
//
//     t_bc = (1 − ε) 1{c = y_b} + ε / C        loss = 1/B Σ_b Σ_c −t_bc log p_bc,    p = softmax(z)
//
// Derive ∂loss/∂z, (B, C) as the logits z, and write it down. one_hot(labels, C, type) is (B, C), with 1 at
// y_b and 0 elsewhere; softmax(z, axis) you know.
#include "lessons/grader/answer.hpp"

Tensor soft_gradient(const Tensor& z, const Indices& labels, double epsilon) {
  const double rows = static_cast<double>(z.size(0)), classes = static_cast<double>(z.size(1));
  const Tensor hard = one_hot(labels, z.size(1), z.dtype());  // 1 where c = y_b
  //[ two lines; rows is B, classes is C
  //: (void)rows, (void)classes;
  //: return not_written_yet();
  const Tensor t = (1 - epsilon) * hard + epsilon / classes;  // each row adds up to 1
  return (softmax(z, -1) - t) / rows;                         // what was said minus what is held to be true
  //]
}

// hint: With ε = 0 this is the lesson's loss. What was its gradient? Which part of it came from the label?
// hint: −Σ_c t_c log p_c = Σ_c t_c · (log Σ_k e^{z_k} − z_c) = log Σ_k e^{z_k} − Σ_c t_c z_c, since the t_c
//   add up to 1. The first part moves with z_c by ____, the second by ____.
// hint: t = (1 − ε) hard + ε / C, in one line of tensors; the gradient is (____ − t) / ____.
//
// wrong: The label counts in full: that is the gradient for ε = 0. With ε the true class should get only
//   1 − ε + ε / C.
// - const Tensor t = (1 - epsilon) * hard + epsilon / classes;
// + const Tensor t = hard;
// wrong: Your targets add up to more than 1: the true class keeps its 1, and ε / C comes on top. It is 1 − ε
//   that is left for it.
// - const Tensor t = (1 - epsilon) * hard + epsilon / classes;
// + const Tensor t = hard + epsilon / classes;
// wrong: You shared ε over the C − 1 other classes. That is another definition; here the true class gets its
//   ε / C too.
// - const Tensor t = (1 - epsilon) * hard + epsilon / classes;
// + const Tensor t = (1 - epsilon) * hard + epsilon / (classes - 1) * (1 - hard);
// wrong: Each of the classes gets the whole of ε. It is shared: ε / C for each.
// - const Tensor t = (1 - epsilon) * hard + epsilon / classes;
// + const Tensor t = (1 - epsilon) * hard + epsilon;
// wrong: The sign is turned round. Where p is larger than t the logit should come down, and descent steps
//   against the gradient: so there it is positive.
// - return (softmax(z, -1) - t) / rows;
// + return (t - softmax(z, -1)) / rows;
// wrong: For one point that is right. Over a batch the losses are averaged, so each row is divided by B.
// - return (softmax(z, -1) - t) / rows;
// + return softmax(z, -1) - t + 0 * rows;
// wrong: You divided by B and by C. The loss averages over points; over classes it adds up.
// - return (softmax(z, -1) - t) / rows;
// + return (softmax(z, -1) - t) / (rows * classes);
// wrong: Softmax runs over the points of the batch: each column adds up to 1. A point shares its probability
//   over classes, the last axis.
// - return (softmax(z, -1) - t) / rows;
// + return (softmax(z, 0) - t) / rows;
// wrong: The logits themselves stand where probabilities should: log Σ e^{z_k} moves with z_c by
//   e^{z_c} / Σ_k e^{z_k}.
// - return (softmax(z, -1) - t) / rows;
// + return (z - t) / rows;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The loss as it stands in the task, number by number; z has rows of `classes` numbers.
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

/// Its central differences.
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
  judge.claim("is right for one point and three classes", [&] {
    judge.example("one point, three classes, ε = 0.3; expected: central differences");
    gradient(1, 3, 0.3);
  });
  judge.claim("is right for batches, classes and shares of any size", [&] {
    judge.each_size({{"B", 1, 5}, {"C", 2, 6}, {"tenths of ε", 0, 9}},
                    [&](const Sizes& n) { gradient(n[0], n[1], static_cast<double>(n[2]) / 10); });
  });
}
