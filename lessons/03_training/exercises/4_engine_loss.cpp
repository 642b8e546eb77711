// 3.4 engine_loss: Cross-entropy for your engine
// derive, 20 minutes, piece loss.hpp
//
// Cross-entropy is the loss for classification. The logits z have the shape (B, classes), and y_i is the right class of
// row i. The loss is the mean over the rows of −log p_{i, y_i}, where p = softmax(z).
//
// For large logits e^z overflows, and for small p the computed logarithm is −∞, although the loss itself is an ordinary
// number. So use log p_j = z_j − m − log Σ_l e^{z_l − m}, where m is the largest logit of the row.
//
// Write the value, of shape (1), and derive the rule. With the rule of softmax from exercise 2.4, the gradient of
// −log p_y becomes very short. Include the division of the mean, and the gradient that the rule receives.
#include "engine/shapes.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

inline Value cross_entropy(const Value& logits, const std::vector<int>& classes) {
  const Array z = logits.array();
  const Array p = softmax_of(z);
  const double rows = z.shape[0];
  double loss = 0;
  each_row(z, [&](std::size_t begin, std::size_t end) {
    const auto right =
        begin + static_cast<std::size_t>(classes[begin / (end - begin)]);  // the index of the right class's z
    //[ add this row's share, about four lines
    //: not_written_yet();
    double most = z.data[begin], total = 0;
    for (std::size_t j = begin; j < end; ++j) most = std::max(most, z.data[j]);
    for (std::size_t j = begin; j < end; ++j) total += std::exp(z.data[j] - most);
    loss += (most + std::log(total) - z.data[right]) / rows;  // −log p, without computing p
    //]
  });
  const Rule rule = [p, classes, rows](const Array& gradient) {
    Array of_z = p;
    const double g = gradient.data[0];
    each_row(p, [&](std::size_t begin, std::size_t end) {
      const auto right = begin + static_cast<std::size_t>(classes[begin / (end - begin)]);
      //[ this row, two lines
      //: not_written_yet();
      of_z.data[right] -= 1;                                               // p − 1 at the right class
      for (std::size_t j = begin; j < end; ++j) of_z.data[j] *= g / rows;  // 1/B, times the received gradient
      //]
    });
    return std::vector{of_z};
  };
  return logits.tape->record({{1}, {loss}}, {logits}, rule);
}

}  // namespace engine

// hint: −log p_y = −z_y + log Σ_l e^{z_l}. What is its derivative with respect to z_y, and with respect to another z_j?
// hint: ∂ log Σ_l e^{z_l} / ∂z_j = e^{z_j} / Σ_l e^{z_l}, which has a name. The term −z_y adds ____, at j = y only.
// hint: The gradient of a row is (p_j − 1{j = y}) · g / B. The value of a row is most + log(total) − z_y, where
//   total is the sum of all e^{z − most}.
//
// wrong: You compute log p from p. If the right logit is 800 below the largest, p is 0, and log 0 is −∞. Use z instead.
// - loss += (most + std::log(total) - z.data[right]) / rows;
// + loss -= std::log(std::exp(z.data[right] - most) / total) / rows;
// wrong: e^800 is ∞. Subtract the row's largest logit m before you compute e^z, and add m to the logarithm again.
// - for (std::size_t j = begin; j < end; ++j) total += std::exp(z.data[j] - most);
// - loss += (most + std::log(total) - z.data[right]) / rows;
// + for (std::size_t j = begin; j < end; ++j) total += std::exp(z.data[j]);
// + loss += (std::log(total) - z.data[right]) / rows;
// wrong: You subtract the largest logit of the whole array. In a row that is far below it, all e^z are 0, and log 0 is
//   −∞. Use the largest logit of each row.
// - for (std::size_t j = begin; j < end; ++j) most = std::max(most, z.data[j]);
// + for (const double logit : z.data) most = std::max(most, logit);
// wrong: Your loss is a sum over the rows, so it grows with the batch size. It must be a mean, to match the gradient.
// - loss += (most + std::log(total) - z.data[right]) / rows;
// + loss += most + std::log(total) - z.data[right];
// wrong: The gradient lacks the factor 1/B of the mean. With a batch of 64, your steps are 64 times too long.
// - for (std::size_t j = begin; j < end; ++j) of_z.data[j] *= g / rows;
// + for (std::size_t j = begin; j < end; ++j) of_z.data[j] *= g;
// wrong: You ignore the gradient that the rule receives. It is 1 if the loss is the last line, but 0.5 for 0.5 · loss.
// - for (std::size_t j = begin; j < end; ++j) of_z.data[j] *= g / rows;
// + for (std::size_t j = begin; j < end; ++j) of_z.data[j] /= rows;
// wrong: Your gradient is p for every class, as if none were right. The right class's logit has another, negative part.
// - of_z.data[right] -= 1;
// + of_z.data[right] -= 0;
// wrong: The sign is wrong. Your gradient points to a smaller loss, but a step goes against the gradient.
// - for (std::size_t j = begin; j < end; ++j) of_z.data[j] *= g / rows;
// + for (std::size_t j = begin; j < end; ++j) of_z.data[j] *= -g / rows;

//= judge
#include "lessons/grader/judge/engine.hpp"

void judge(Judge& judge) {
  using engine::Array, engine::Tape, engine::Value;
  const auto loss_of = [](const Array& z, const std::vector<int>& classes) {
    Tape tape;
    return engine::cross_entropy(tape.leaf(z), classes).array().data.at(0);
  };
  judge.claim("computes the mean of −log p", [&] {
    judge.example("logits (0, log 3), of which the second class is right: p = 3/4");
    judge.same(loss_of({{1, 2}, {0, std::log(3.0)}}, {1}), -std::log(0.75), "the loss");
    judge.example("two rows of logits (0, log 3), in both of which the second class is right");
    judge.same(loss_of({{2, 2}, {0, std::log(3.0), 0, std::log(3.0)}}, {1, 1}), -std::log(0.75), "the loss");
  });
  judge.claim("computes the loss of large logits", [&] {
    judge.example("logits (800, 0), the first class is right: p = 1");
    judge.same(loss_of({{1, 2}, {800, 0}}, {0}), 0, "the loss");
    judge.example("logits (800, 0), the second class is right");
    judge.same(loss_of({{1, 2}, {800, 0}}, {1}), 800, "the loss");
    judge.example("rows of logits (800, 0) and (−800, −800), the first class is right in both");
    judge.same(loss_of({{2, 2}, {800, 0, -800, -800}}, {0, 0}), std::log(2.0) / 2, "the loss");
  });
  judge.claim("has the gradient (p − 1{right}) / B", [&] {
    Tape tape;
    const Value z = tape.leaf({{1, 2}, {0, std::log(3.0)}});
    tape.backward(engine::cross_entropy(z, {1}));
    judge.example("logits (0, log 3), the second class is right");
    judge.same(z.gradient().data, {0.25, -0.25}, "the gradient");
    const Value two = tape.leaf({{2, 2}, {0, std::log(3.0), 0, 0}});
    tape.backward(engine::cross_entropy(two, {1, 0}));
    judge.example("two rows: (0, log 3), where the second class is right, and (0, 0), where the first is");
    judge.same(two.gradient().data, {0.125, -0.125, -0.25, 0.25}, "the gradient");
  });
  judge.claim("computes the same values and gradients as Tapestry, also for half of the loss", [&] {
    judge.each_size({{"rows", 1, 4}, {"classes", 1, 5}}, [&](const Sizes& n) {
      std::vector<int> classes;
      std::vector<std::int64_t> same;
      for (Size i = 0; i < n[0]; ++i) same.push_back(judge.random().below(n[1]));
      classes.assign(same.begin(), same.end());
      grader::agree<Tape>(
          judge, {judge.normal({n[0], n[1]}) * 3.0},
          [&](const std::vector<Value>& in) { return engine::cross_entropy(in[0], classes) * 0.5; },
          [&](const std::vector<Tensor>& in) {
            return reshape(tapestry::cross_entropy(in[0], Indices(same, {n[0]})), {1}) * 0.5;
          });
    });
  });
}
