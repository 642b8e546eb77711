// 29.2 who_is_pulled: Gradients of the copy loss
// derive, 20 minutes
//
// A decoder writes from its vocabulary or copies from the source, as in the chapter. The probability of the next word
// w is P = p a + (1 − p) c, and the loss is −ln P. Here p = sigmoid(gate) is the probability of writing, a is the
// vocabulary's probability of w, and c is the sum of the weights of all source positions with w:
//
//     a = Σ_v right_v · softmax(logits)_v          c = Σ_j here_j · softmax(scores)_j
//
// `right` (B, V) is 1 at w and 0 elsewhere. If w is unknown, it is 0 everywhere. `here` (B, S) is 1 at the positions
// of w and 0 elsewhere.
//
// Return the gradients of the loss, summed over the rows, with respect to gate (B, 1), logits (B, V) and scores
// (B, S). Do not use the tape.
#include "lessons/grader/answer.hpp"

struct Pulls {
  Tensor gate, logits, scores;
};

Pulls pulls(const Tensor& gate, const Tensor& logits, const Tensor& scores, const Tensor& right,
            const Tensor& here) {
  //[ the three gradients
  //: static_cast<void>(gate.size(0)), static_cast<void>(logits.size(0)), static_cast<void>(scores.size(0));
  //: static_cast<void>(right.size(0)), static_cast<void>(here.size(0));
  //: return not_written_yet();
  const Tensor p = sigmoid(gate), vocabulary = softmax(logits, -1), weights = softmax(scores, -1);
  const Tensor wrote = p * sum(right * vocabulary, {-1}, Keep::yes);
  const Tensor copied = (1.0 - p) * sum(here * weights, {-1}, Keep::yes), all = wrote + copied;
  return {p - wrote / all,  // p should be the proportion of P that was written
          wrote / all * vocabulary - p * right * vocabulary / all,  // cross-entropy's, times this proportion
          copied / all * weights - (1.0 - p) * here * weights / all};  // the same for the copied part
  //]
}

// hint: ∂(−ln P) = −∂P / P. What is ∂p/∂gate, and what is ∂P/∂p?
// hint: For the gate: −(a − c) p (1 − p) / P. For the logits: ∂a/∂logits_v = softmax_v (right_v − ____).
// hint: Let r = p a / P, the proportion of P that was written. The gate's gradient is p − r. The logits' gradient is
//   r · softmax(logits) − p · right · softmax(logits) / P. For the scores it is the same with 1 − r, 1 − p and here.

// wrong: The sign is wrong. If all of P was written from the vocabulary, the gate must rise, so its gradient is
//   negative.
// - return {p - wrote / all,
// + return {wrote / all - p,
// wrong: The sigmoid's derivative is missing: ∂p/∂gate is p (1 − p).
// - return {p - wrote / all,
// + return {(copied / (1.0 - p) - wrote / p) / all,
// wrong: That is the gradient of −P. The loss is −ln P, so all three gradients are divided by P.
// - return {p - wrote / all,
// - wrote / all * vocabulary - p * right * vocabulary / all,
// - copied / all * weights - (1.0 - p) * here * weights / all};
// + return {p * all - wrote, wrote * vocabulary - p * right * vocabulary,
// +         copied * weights - (1.0 - p) * here * weights};
// wrong: That would be right if all of P had been written. The written part of P depends on both terms of P.
// - return {p - wrote / all,
// + return {p - 1.0,
// wrong: That is the gradient of cross-entropy, as if all of P had been written. If a part was copied, the logits'
//   gradient is smaller.
// - wrote / all * vocabulary - p * right * vocabulary / all,
// + vocabulary - right,
// wrong: The weights sum to 1: if one rises, the others fall. The term with all weights is missing.
// - copied / all * weights - (1.0 - p) * here * weights / all};
// + 0.0 - (1.0 - p) * here * weights / all};
// wrong: The division by P is missing in the logits' gradient. The written part of P is p a / P, not p.
// - wrote / all * vocabulary - p * right * vocabulary / all,
// + p * (vocabulary - right),
// wrong: The scores' gradient has p in it. The copied term is weighted with 1 − p.
// - copied / all * weights - (1.0 - p) * here * weights / all};
// + copied / all * weights - p * here * weights / all};
// wrong: This opens a tape. Compute the gradients without one: deriving them is the exercise.
// - return {p - wrote / all,
// - wrote / all * vocabulary - p * right * vocabulary / all,
// - copied / all * weights - (1.0 - p) * here * weights / all};
// + static_cast<void>(copied);
// + const Tensor x = variable(gate.detach()), y = variable(logits.detach()), z = variable(scores.detach());
// + Tape tape;
// + const Tensor a = sum(right * softmax(y, -1), {-1}, Keep::yes), c = sum(here * softmax(z, -1), {-1}, Keep::yes);
// + tape.backward(0.0 - sum(log(sigmoid(x) * a + (1.0 - sigmoid(x)) * c)));
// + return {x.grad(), y.grad(), z.grad()};

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the sum of −ln P over all rows, computed with loops.
double loss_of(const Tensor& gate, const Tensor& logits, const Tensor& scores, const Tensor& right,
               const Tensor& here) {
  const auto mean = [](const Tensor& s, const Tensor& of, Size b) {
    double total = 0, part = 0;
    for (Size j = 0; j < s.size(1); ++j)
      total += std::exp(s.at({b, j})), part += of.at({b, j}) * std::exp(s.at({b, j}));
    return part / total;
  };
  double loss = 0;
  for (Size b = 0; b < gate.size(0); ++b) {
    const double p = 1 / (1 + std::exp(-gate.at({b, 0})));
    loss -= std::log(p * mean(logits, right, b) + (1 - p) * mean(scores, here, b));
  }
  return loss;
}

template <class F>
Tensor differences(const Tensor& x, F loss) {
  constexpr double kStep = 1e-6;
  std::vector<double> values = x.to_vector(), all;
  for (double& value : values) {
    const double old = value;
    const auto at = [&](double moved) { return value = moved, loss(tensor(values, x.shape(), DType::f64)); };
    all.push_back((at(old + kStep) - at(old - kStep)) / (2 * kStep));
    value = old;
  }
  return tensor(all, x.shape(), DType::f64);
}

void compare(Judge& judge, const Tensor& gate, const Tensor& logits, const Tensor& scores,
             const Tensor& right, const Tensor& here) {
  const auto came = judge.without_tape([&] { return pulls(gate, logits, scores, right, here); });
  judge.same(came.gate,
             differences(gate, [&](const Tensor& x) { return loss_of(x, logits, scores, right, here); }),
             "the gate's gradient", 1e-6);
  judge.same(came.logits,
             differences(logits, [&](const Tensor& x) { return loss_of(gate, x, scores, right, here); }),
             "the logits' gradient", 1e-6);
  judge.same(came.scores,
             differences(scores, [&](const Tensor& x) { return loss_of(gate, logits, x, right, here); }),
             "the scores' gradient", 1e-6);
}

}  // namespace

void judge(Judge& judge) {
  const auto matrix = [](const NestedList& numbers) { return tensor(numbers, DType::f64); };
  judge.claim("finds the gradients for a word that is known and in the source", [&] {
    judge.example("p = ½, vocabulary (½, ½), weights (¼, ¾), the word is the first of both");
    compare(judge, matrix({{0}}), matrix({{0, 0}}), matrix({{0, std::log(3.0)}}), matrix({{1, 0}}),
            matrix({{1, 0}}));
  });
  judge.claim("finds them for a word that can only be copied and one that can only be written", [&] {
    judge.example("an unknown word that is in the source twice, and a known word that is not in the source");
    compare(judge, matrix({{1}, {-0.5}}), matrix({{0.2, 1}, {1, -1}}), matrix({{0, 1, 2}, {1, 0, 1}}),
            matrix({{0, 0}, {0, 1}}), matrix({{1, 0, 1}, {0, 0, 0}}));
  });
  judge.claim("works for any sizes", [&] {
    judge.each_size({{"rows", 1, 4}, {"words", 1, 5}, {"places", 1, 6}},
                    [&](const Sizes& n) {
                      std::vector<double> right, here;
                      for (Size b = 0; b < n[0]; ++b) {
                        const Size word = judge.random().below(n[1]), place = judge.random().below(n[2]);
                        for (Size v = 0; v < n[1]; ++v) right.push_back(v == word ? 1 : 0);
                        for (Size j = 0; j < n[2]; ++j)
                          here.push_back(j == place || judge.random().chance(0.3) ? 1 : 0);
                      }
                      compare(judge, judge.normal({n[0], 1}), judge.normal({n[0], n[1]}),
                              judge.normal({n[0], n[2]}), tensor(right, {n[0], n[1]}, DType::f64),
                              tensor(here, {n[0], n[2]}, DType::f64));
                    },
                    {.f32 = false});
  });
}
