// 32.2 what_padding_adds: Padding in a sum
// debug, 15 minutes
//
// This function compares each word a_i of a sentence with its counterpart β_i, and adds up the results over the words
// of the sentence. It returns (B, h):
//
//     v_i = G([a_i; β_i])                   result: Σ_i v_i
//
// Its results are right if all sentences of the batch have the same length. But the result for a sentence changes if
// its batch contains a longer sentence. Find the mistake.
//
// a and beta are (B, n, d). is_a (B, 1, n) is true for words and false for padding. g maps (B, n, 2d) to (B, n, h).
#include "lessons/grader/answer.hpp"

using Net = std::function<Tensor(const Tensor&)>;

Tensor compare(const Tensor& a, const Tensor& beta, const Mask& is_a, const Net& g) {
  const Mask rows = is_a.reshape({a.size(0), a.size(1), 1});  // (B, n, 1)
  const Tensor zero = scalar(0, a.dtype());
  //[ compare, and add up
  //: const Tensor words = where(rows, a, zero), others = where(rows, beta, zero);
  //: const Tensor v = g(concat({words, others}, -1));
  //: return sum(v, {1});
  const Tensor v = g(concat({a, beta}, -1));
  return sum(where(rows, v, zero), {1});  // mask after G: G of zeros is not zero, because G has biases
  //]
}

// hint: What does G return for a row of zeros?
// hint: Only rows of words may be in the sum. Which tensor is summed, and what does it contain in the rows of
//   padding?
// hint: where(rows, ____, zero), in the sum.
//
// start: In a batch with a longer sentence, the shorter sentence gets a different sum. What is the difference between
//   the two sums, and how does it depend on the number of padding rows?
//
// wrong: Without a mask, G's outputs for padding are added too. Only rows of words belong in the sum.
// - return sum(where(rows, v, zero), {1});
// + return sum(v, {1});
// wrong: You divided by the number of positions, which includes padding. So the result depends on the length of the
//   batch.
// - return sum(where(rows, v, zero), {1});
// + return mean(where(rows, v, zero), {1});
// wrong: The mask is the wrong way round: you added up the rows of padding.
// - return sum(where(rows, v, zero), {1});
// + return sum(where(rows, zero, v), {1});
// wrong: G's outputs for zeros are still in the result, and the mean depends on the length of the batch. Mask after
//   G, and use a sum.
// - const Tensor v = g(concat({a, beta}, -1));
// - return sum(where(rows, v, zero), {1});
// + const Tensor words = where(rows, a, zero), others = where(rows, beta, zero);
// + return mean(g(concat({words, others}, -1)), {1});
// wrong: The formula has a sum, not a mean over the words. A mean does not show how many words differ.
// - return sum(where(rows, v, zero), {1});
// + const Tensor one = scalar(1, a.dtype());
// + return sum(where(rows, v, zero), {1}) / sum(where(rows, one, zero), {1});
// wrong: You subtracted G's output for zeros from every row, words included. Only the rows of padding must be
//   removed.
// - return sum(where(rows, v, zero), {1});
// + return sum(v - g(zeros({a.size(0), a.size(1), 2 * a.size(2)}, a.dtype())), {1});
// wrong: You took the maximum instead of the sum. The padding has no effect now, but two contradicted words count as
//   one.
// - return sum(where(rows, v, zero), {1});
// + return max(where(rows, v, scalar(-1e30, a.dtype())), {1});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the sums sentence by sentence, word by word.
Tensor by_loops(const Tensor& a, const Tensor& beta, const std::vector<Size>& lengths, const Net& g) {
  std::vector<double> all;
  for (Size row = 0; row < a.size(0); ++row) {
    std::vector<double> total;
    for (Size i = 0; i < lengths[static_cast<std::size_t>(row)]; ++i) {
      const auto word = [&](const Tensor& x) { return reshape(select(select(x, 0, row), 0, i), {1, 1, -1}); };
      const std::vector<double> v = g(concat({word(a), word(beta)}, -1)).to_vector();
      total.resize(v.size(), 0.0);
      for (std::size_t c = 0; c < v.size(); ++c) total[c] += v[c];
    }
    all.insert(all.end(), total.begin(), total.end());
  }
  return tensor(all, {a.size(0), static_cast<Size>(all.size()) / a.size(0)}, DType::f64);
}

void try_lengths(Judge& judge, Size words, Size width, const std::vector<Size>& lengths) {
  const auto batch = static_cast<Size>(lengths.size());
  const Tensor w = judge.normal({3, 2 * width}), bias = judge.normal({3}) + 0.37;
  const Net g = [&](const Tensor& x) { return tanh(linear(x, w, bias)); };
  const Tensor a = judge.normal({batch, words, width}), beta = judge.normal({batch, words, width});
  judge.same(compare(a, beta, ValidLengths(lengths).mask(words), g), by_loops(a, beta, lengths, g),
             "the sum");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("adds up two sentences, one of them shorter", [&] {
    judge.example("2 and 4 words in a batch with four positions");
    try_lengths(judge, 4, 2, {2, 4});
  });
  judge.claim("works for any lengths", [&] {
    judge.each_size({{"batch", 1, 3}, {"positions", 1, 5}, {"d", 1, 3}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size row = 0; row < n[0]; ++row) lengths.push_back(judge.random().between(1, n[1]));
      try_lengths(judge, n[1], n[2], lengths);
    });
  });
  judge.claim("passes gradients to words and counterparts", [&] {
    const Tensor w = judge.normal({3, 4});
    const Net g = [&](const Tensor& x) { return tanh(linear(x, w, Tensor())); };
    const Mask is_a = ValidLengths{1, 3}.mask(3);
    judge.gradients([&](const Tensor& a, const Tensor& beta) { return compare(a, beta, is_a, g); },
                    {judge.normal({2, 3, 2}), judge.normal({2, 3, 2})});
  });
}
