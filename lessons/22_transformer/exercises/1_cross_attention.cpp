// 22.1 cross_attention: Cross-attention
// implement, 10 minutes
//
// Write cross-attention with one head. y (B, T, d) contains the states of the output words so far. x (B, S, m)
// contains the encoder's states of the source words: row b has lengths[b] words, followed by padding. The
// queries come from y, and the keys and values from x:
//
//     q = y W_q,   k = x W_k,   v = x W_v,        weights = softmax(q kᵀ / √h),        result = weights · v
//
// The matrices are w_q (d, h), w_k (m, h) and w_v (m, u). Return a tensor (B, T, u). Each output word may
// attend to all words of its source, but not to the padding.
#include "lessons/grader/answer.hpp"

Tensor cross_attention(const Tensor& y, const Tensor& x, const ValidLengths& lengths, const Tensor& w_q,
                       const Tensor& w_k, const Tensor& w_v) {
  //[ three or four lines
  //: static_cast<void>(lengths);
  //: return not_written_yet();
  const Tensor q = matmul(y, w_q), k = matmul(x, w_k), v = matmul(x, w_v);  // queries from y, others from x
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));  // (B, T, S)
  const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));  // (B, 1, S): for every query
  return matmul(weights, v);                                               // (B, T, u)
  //]
}

// hint: Which of y and x has the queries, and which one has the keys and values? So which one is projected with
//   W_q, and which one with W_k and W_v?
// hint: scores = matmul(q, transpose(__)) / √h has the shape (B, T, S). lengths.mask(S) has the shape (B, 1, S)
//   and is true for words.
// hint: matmul(masked_softmax(scores, lengths.mask(x.size(1))), v)
//
// wrong: You made the attention causal, so output word t attends only to the first t source words. But the
//   whole source is known before the first output word is written.
// - const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));
// + const Mask earlier = Mask::from(y.size(1), x.size(1), [](Size t, Size s) { return s <= t; });
// + const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)) & earlier);
// wrong: You did not mask the padding of the source. So the padding after a short sentence gets weight in its
//   average.
// - const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));
// + const Tensor weights = softmax(scores, -1);
// wrong: Your softmax runs over the queries, so the output words share the weight of each source word. Instead,
//   the weights of each query must sum to 1, along the last axis.
// - const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));
// + const Tensor weights = softmax(scores, -2);
// wrong: You divide by √S, the root of the number of source words. The variance of a score grows with h, the
//   number of products in its sum (lesson 08).
// - const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));
// + const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(x.size(1)));
// wrong: You divide by √d, the root of the width of y. A score is the sum of the h products of q and k.
// - const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));
// + const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(y.size(2)));
// wrong: The scale is missing, so the scores are √h times too large.
// - const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));
// + const Tensor scores = matmul(q, transpose(k));
// wrong: You use the mask of the first sentence for all rows. In a batch, each source has its own length.
// - const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));
// + const Mask first = Mask::from(1, x.size(1), [&](Size, Size s) { return s < lengths[0]; });
// + const Tensor weights = masked_softmax(scores, first);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the formula in loops.
Tensor by_loops(const Tensor& y, const Tensor& x, const std::vector<Size>& lengths, const Tensor& w_q,
                const Tensor& w_k, const Tensor& w_v) {
  const auto projected = [](const Tensor& in, Size b, Size t, const Tensor& w, Size column) {
    double sum = 0;
    for (Size i = 0; i < w.size(0); ++i) sum += in.at({b, t, i}) * w.at({i, column});
    return sum;
  };
  std::vector<double> all;
  for (Size b = 0; b < y.size(0); ++b)
    for (Size t = 0; t < y.size(1); ++t) {
      std::vector<double> power;
      double sum = 0;
      for (Size s = 0; s < lengths[static_cast<std::size_t>(b)]; ++s) {
        double score = 0;
        for (Size i = 0; i < w_q.size(1); ++i)
          score += projected(y, b, t, w_q, i) * projected(x, b, s, w_k, i);
        power.push_back(std::exp(score / std::sqrt(static_cast<double>(w_q.size(1)))));
        sum += power.back();
      }
      for (Size u = 0; u < w_v.size(1); ++u) {
        double read = 0;
        for (std::size_t s = 0; s < power.size(); ++s)
          read += power[s] / sum * projected(x, b, static_cast<Size>(s), w_v, u);
        all.push_back(read);
      }
    }
  return tensor(all, {y.size(0), y.size(1), w_v.size(1)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](const Sizes& n, const std::vector<Size>& lengths) {
    const Tensor y = judge.normal({n[0], n[1], n[3]}), x = judge.normal({n[0], n[2], n[4]});
    const Tensor w_q = judge.normal({n[3], n[5]}), w_k = judge.normal({n[4], n[5]}),
                 w_v = judge.normal({n[4], n[6]});
    judge.same(cross_attention(y, x, ValidLengths(lengths), w_q, w_k, w_v),
               by_loops(y, x, lengths, w_q, w_k, w_v), "the result");
  };
  judge.claim("computes the result for two output words and a source of three words", [&] {
    judge.example("one sentence, two output words, three source words, d = 5, m = 2, h = 4, u = 2");
    compare({1, 2, 3, 5, 2, 4, 2}, {3});
  });
  judge.claim("uses the length of each source in a batch", [&] {
    judge.example("two sources of 2 and 3 words, one output word each");
    compare({2, 1, 3, 5, 2, 4, 2}, {2, 3});
  });
  judge.claim("masks padding for other sizes", [&] {
    judge.each_size(
        {{"batch", 1, 3}, {"T", 1, 4}, {"S", 1, 5}, {"d", 1, 3}, {"m", 1, 4}, {"h", 1, 3}, {"u", 1, 3}},
        [&](const Sizes& n) {
          std::vector<Size> lengths;
          for (Size b = 0; b < n[0]; ++b) lengths.push_back(b == 0 ? n[2] : judge.random().between(1, n[2]));
          compare(n, lengths);
        });
  });
  judge.claim("passes gradcheck for both sequences and all matrices", [&] {
    const ValidLengths lengths = {4, 2};
    judge.gradients([&](const Tensor& y, const Tensor& x, const Tensor& w_q, const Tensor& w_k,
                        const Tensor& w_v) { return cross_attention(y, x, lengths, w_q, w_k, w_v); },
                    {judge.normal({2, 3, 2}), judge.normal({2, 4, 3}), judge.normal({2, 2}),
                     judge.normal({3, 2}), judge.normal({3, 2})});
  });
}
