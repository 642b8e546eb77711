// 11.2 look_back: From scores to the context
// implement, 10 minutes
//
// The given code computes the additive score of each encoder state, as in exercise 11.1. From these scores, compute
// the context c, the weighted average of the encoder states:
//
//     α = softmax of the scores over the letters,        c = Σ_j α_j h_j
//
// Here h_j is the encoder state at letter j. The strings of a batch differ in length. Row b of states (B, T, d)
// holds lengths[b] states, followed by padding. The weight of padding must be exactly 0, even if all letters have
// very low scores.
//
// Unlike in exercise 11.1, the argument query (B, U) is already W_q s, for the decoder's state s, and keys (B, T, U)
// holds the vectors W_k h_j. U is the number of hidden units of the score, and v has the shape (U). Return the
// context (B, d).
#include "lessons/grader/answer.hpp"

Tensor look_back(const Tensor& query, const Tensor& keys, const Tensor& v, const Tensor& states,
                 const ValidLengths& lengths) {
  const Size batch = states.size(0), time = states.size(1);
  const Tensor scores = sum(tanh(unsqueeze(query, 1) + keys) * v, {-1});  // (B, T), as in 11.1
  //[ three lines; use `batch` and `time` for the shape of the mask
  //: static_cast<void>(batch), static_cast<void>(time);
  //: return not_written_yet();
  const Mask letters = lengths.mask(time).reshape({batch, time});  // (B, 1, T) → (B, T), like the scores
  const Tensor weights = masked_softmax(scores, letters);          // exactly 0 for padding
  return squeeze(matmul(unsqueeze(weights, 1), states), 1);        // (B, 1, T) · (B, T, d)
  //]
}

// hint: Which of the T positions of row b may get a weight above 0? Which argument tells you?
// hint: lengths.mask(time) has the shape (B, 1, T) and is true for letters. The scores have the shape (B, T). Reshape
//   the mask to the shape of the scores, then call masked_softmax(scores, ____).
// hint: A weighted average is a matrix product. unsqueeze(weights, 1) has the shape (B, 1, T), and states has the shape
//   (B, T, d).
//
// wrong: The softmax includes the padding, so the context of a short string depends on how far it was padded.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = softmax(scores, -1);
// wrong: You set the weights of the padding to 0 after the softmax. Then the remaining weights of a short string sum to
//   less than 1. Apply the mask before the softmax.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = where(letters, softmax(scores, -1), scalar(0, scores.dtype()));
// wrong: You set the scores of the padding to 0. But the softmax exponentiates the scores, and e⁰ = 1. Only a score of
//   −∞ has the weight 0.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = softmax(where(letters, scores, scalar(0, scores.dtype())), -1);
// wrong: You set the scores of the padding to a low number, but not to −∞. Letters can have even lower scores. With
//   masked_softmax, the weight of padding is 0, whatever the scores are.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = softmax(where(letters, scores, scalar(-1e9, scores.dtype())), -1);
// wrong: The mask is inverted. True means "may attend", but your mask is true for the padding.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = masked_softmax(scores, !letters);
// wrong: You average the keys. The keys are projected states, W_k h_j, of width U. The context is the weighted average
//   of the states h_j.
// - return squeeze(matmul(unsqueeze(weights, 1), states), 1);
// + return squeeze(matmul(unsqueeze(weights, 1), keys), 1);
// wrong: You use the length of the first string for every row. Each string of a batch has its own length.
// - const Mask letters = lengths.mask(time).reshape({batch, time});
// + const Mask letters = Mask::from(batch, time, [&](Size, Size j) { return j < lengths[0]; });

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the formula in loops, one letter at a time.
Tensor by_loops(const Tensor& query, const Tensor& keys, const Tensor& v, const Tensor& states,
                const std::vector<Size>& lengths) {
  const Size time = states.size(1), units = keys.size(2), width = states.size(2);
  std::vector<double> contexts;
  for (Size b = 0; b < states.size(0); ++b) {
    std::vector<double> context(static_cast<std::size_t>(width), 0.0);
    std::vector<double> scores;
    for (Size j = 0; j < std::min(time, lengths[static_cast<std::size_t>(b)]); ++j) {
      scores.push_back(0);
      for (Size u = 0; u < units; ++u)
        scores.back() += v.at({u}) * std::tanh(query.at({b, u}) + keys.at({b, j, u}));
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const double part = std::exp(scores[j] - largest);
      sum += part;
      for (Size i = 0; i < width; ++i)
        context[static_cast<std::size_t>(i)] += part * states.at({b, static_cast<Size>(j), i});
    }
    for (const double x : context) contexts.push_back(x / sum);
  }
  return tensor(contexts, {states.size(0), width}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("averages the states of the letters and ignores the padding", [&] {
    judge.example("one string of two letters and one position of padding; states (1, 0), (0, 1) and (5, 5)");
    const Tensor query = judge.normal({1, 2}), keys = judge.normal({1, 3, 2}),
                 v = tensor({1.5, -1}, DType::f64);
    const Tensor states = tensor({{{1, 0}, {0, 1}, {5, 5}}}, DType::f64);
    judge.same(look_back(query, keys, v, states, {2}), by_loops(query, keys, v, states, {2}), "the context");
  });
  judge.claim("uses the length of each string in a batch", [&] {
    judge.each_size({{"batch", 1, 4}, {"positions", 1, 5}, {"d", 1, 4}, {"U", 1, 3}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size b = 0; b < n[0]; ++b) lengths.push_back(b == 0 ? n[1] : judge.random().between(1, n[1]));
      const Tensor query = judge.normal({n[0], n[3]}), keys = judge.normal({n[0], n[1], n[3]});
      const Tensor v = judge.normal({n[3]}), states = judge.normal({n[0], n[1], n[2]});
      judge.same(look_back(query, keys, v, states, ValidLengths(lengths)),
                 by_loops(query, keys, v, states, lengths), "the context");
    });
  });
  judge.claim("ignores the padding even if the scores of the letters are very low", [&] {
    judge.example(
        "one string of two letters with scores of −10¹², and one position of padding with the state (5, 5)");
    const Tensor query = tensor({{1}}, DType::f64), keys = tensor({{{2}, {2}, {3}}}, DType::f64);
    const Tensor v = tensor({-1e12 / std::tanh(3.0)}, DType::f64);
    const Tensor states = tensor({{{1, 0}, {0, 1}, {5, 5}}}, DType::f64);
    judge.same(look_back(query, keys, v, states, {2}), by_loops(query, keys, v, states, {2}), "the context");
  });
  judge.claim("passes gradcheck for query, keys, v and states", [&] {
    const ValidLengths lengths = {4, 2};
    judge.gradients(
        [&](const Tensor& query, const Tensor& keys, const Tensor& v, const Tensor& states) {
          return look_back(query, keys, v, states, lengths);
        },
        {judge.normal({2, 3}), judge.normal({2, 4, 3}), judge.normal({3}), judge.normal({2, 4, 2})});
  });
}
