// 11.2 look_back: from scores to what was read
// implement, 10 minutes
//
// The decoder has a score for each of the encoder's states, as you wrote it in 11.1. Turn the scores into the
// context, the weighted average of the states:
//
//     α = softmax of the scores over the letters,        c = Σ_j α_j h_j
//
// h_j is the encoder's state at letter j. The strings of a batch differ in length: states (B, T, d) holds lengths[b]
// of them in row b, and padding after them, which must get no weight, however low the letters' scores are. keys
// (B, T, U) is the states times the score's matrix, query (B, U) the decoder's state times the other one, v (U), with
// U for the number of the score's hidden units. The result is (B, d).
#include "lessons/grader/answer.hpp"

Tensor look_back(const Tensor& query, const Tensor& keys, const Tensor& v, const Tensor& states,
                 const ValidLengths& lengths) {
  const Size batch = states.size(0), time = states.size(1);
  const Tensor scores = sum(tanh(unsqueeze(query, 1) + keys) * v, {-1});  // (B, T), as in 11.1
  //[ three lines; `batch` and `time` help with the mask's shape
  //: static_cast<void>(batch), static_cast<void>(time);
  //: return not_written_yet();
  const Mask letters = lengths.mask(time).reshape({batch, time});  // (B, 1, T) → (B, T), as the scores
  const Tensor weights = masked_softmax(scores, letters);          // exactly 0 for padding
  return squeeze(matmul(unsqueeze(weights, 1), states), 1);        // (B, 1, T) · (B, T, d)
  //]
}

// hint: Which of the T places of row b may get weight, and where is that written?
// hint: lengths.mask(time) is (B, 1, T), true for letters; the scores are (B, T). Bring one to the other's
//   shape, then masked_softmax(scores, ____).
// hint: A weighted average is a product of matrices: unsqueeze(weights, 1) is (B, 1, T), the states are
//   (B, T, d).
//
// wrong: Padding gets weight: the softmax runs over all T places, and what stands after a short string takes
//   part in its average. Put the shortest string alone into a batch, and it reads something else.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = softmax(scores, -1);
// wrong: The padding's weights are taken away after the softmax, and nobody gets what they had: the weights
//   of a short string sum to less than 1. The mask belongs before the softmax.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = where(letters, softmax(scores, -1), scalar(0, scores.dtype()));
// wrong: The padding's scores are 0, and a score of 0 counts as e⁰ = 1 in the softmax. Only −∞ counts as
//   nothing.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = softmax(where(letters, scores, scalar(0, scores.dtype())), -1);
// wrong: The padding has a low score, but not −∞, and letters can have lower ones still. masked_softmax gives padding
//   no weight whatever the scores are.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = softmax(where(letters, scores, scalar(-1e9, scores.dtype())), -1);
// wrong: The mask is turned round: true means "may attend", and yours is true for the padding.
// - const Tensor weights = masked_softmax(scores, letters);
// + const Tensor weights = masked_softmax(scores, !letters);
// wrong: You average the keys. They are the states times the score's matrix, of another width; what is read
//   are the states themselves.
// - return squeeze(matmul(unsqueeze(weights, 1), states), 1);
// + return squeeze(matmul(unsqueeze(weights, 1), keys), 1);
// wrong: Every row gets the mask of the first string. In a batch each string has its own length.
// - const Mask letters = lengths.mask(time).reshape({batch, time});
// + const Mask letters = Mask::from(batch, time, [&](Size, Size j) { return j < lengths[0]; });

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The formula, one letter at a time.
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
  judge.claim("averages the states of the letters, without the padding", [&] {
    judge.example("one string of two letters and one place of padding; states (1, 0), (0, 1) and (5, 5)");
    const Tensor query = judge.normal({1, 2}), keys = judge.normal({1, 3, 2}),
                 v = tensor({1.5, -1}, DType::f64);
    const Tensor states = tensor({{{1, 0}, {0, 1}, {5, 5}}}, DType::f64);
    judge.same(look_back(query, keys, v, states, {2}), by_loops(query, keys, v, states, {2}), "the context");
  });
  judge.claim("gives each string of a batch its own length", [&] {
    judge.each_size({{"batch", 1, 4}, {"places", 1, 5}, {"d", 1, 4}, {"U", 1, 3}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size b = 0; b < n[0]; ++b) lengths.push_back(b == 0 ? n[1] : judge.random().between(1, n[1]));
      const Tensor query = judge.normal({n[0], n[3]}), keys = judge.normal({n[0], n[1], n[3]});
      const Tensor v = judge.normal({n[3]}), states = judge.normal({n[0], n[1], n[2]});
      judge.same(look_back(query, keys, v, states, ValidLengths(lengths)),
                 by_loops(query, keys, v, states, lengths), "the context");
    });
  });
  judge.claim("hides padding however low the letters' scores are", [&] {
    judge.example(
        "one string of two letters, of score −10¹² each, and one place of padding, with state (5, 5)");
    const Tensor query = tensor({{1}}, DType::f64), keys = tensor({{{2}, {2}, {3}}}, DType::f64);
    const Tensor v = tensor({-1e12 / std::tanh(3.0)}, DType::f64);
    const Tensor states = tensor({{{1, 0}, {0, 1}, {5, 5}}}, DType::f64);
    judge.same(look_back(query, keys, v, states, {2}), by_loops(query, keys, v, states, {2}), "the context");
  });
  judge.claim("lets gradients through to query, keys, v and states", [&] {
    const ValidLengths lengths = {4, 2};
    judge.gradients(
        [&](const Tensor& query, const Tensor& keys, const Tensor& v, const Tensor& states) {
          return look_back(query, keys, v, states, lengths);
        },
        {judge.normal({2, 3}), judge.normal({2, 4, 3}), judge.normal({3}), judge.normal({2, 4, 2})});
  });
}
