// 22.1 cross_attention: the words that are written ask the words that were read
// implement, 10 minutes
//
// Write cross-attention with one head. y (B, T, d) is what was written so far, x (B, S, m) what the encoder
// read, of which row b has lengths[b] words, and padding after them. The queries come from y, the keys and
// values from x:
//
//     q = y W_q,   k = x W_k,   v = x W_v,        weights = softmax(q kᵀ / √h),        result = weights · v
//
// w_q is (d, h), w_k (m, h), w_v (m, u); the result is (B, T, u). All words of the source may be seen, its
// padding may not.
#include "lessons/grader/answer.hpp"

Tensor cross_attention(const Tensor& y, const Tensor& x, const ValidLengths& lengths, const Tensor& w_q,
                       const Tensor& w_k, const Tensor& w_v) {
  //[ three or four lines
  //: static_cast<void>(lengths);
  //: return not_written_yet();
  const Tensor q = matmul(y, w_q), k = matmul(x, w_k), v = matmul(x, w_v);  // who asks; who answers, twice
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));  // (B, T, S)
  const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));  // (B, 1, S): for every query
  return matmul(weights, v);                                               // (B, T, u)
  //]
}

// hint: Which of y and x asks, which one answers? Then which of them is projected with W_q, and which with
//   W_k and W_v?
// hint: scores = matmul(q, transpose(__)) / √h is (B, T, S). lengths.mask(S) is (B, 1, S), true for words.
// hint: matmul(masked_softmax(scores, lengths.mask(x.size(1))), v)
//
// wrong: You made the attention causal. Word t of what is written would see the first t words of the source
//   alone; but the source was there as a whole before the first word.
// - const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));
// + const Mask earlier = Mask::from(y.size(1), x.size(1), [](Size t, Size s) { return s <= t; });
// + const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)) & earlier);
// wrong: The padding of the source gets weight: what stands after a short sentence takes part in its
//   average.
// - const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));
// + const Tensor weights = softmax(scores, -1);
// wrong: The softmax runs over the queries: the words that are written compete for each word of the source.
//   Each query has to share out its own weight, along the last axis.
// - const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));
// + const Tensor weights = softmax(scores, -2);
// wrong: Scaled is by the number of words, √S. The variance of a score grows with the number of products
//   that are summed up in it, h (lesson 08).
// - const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));
// + const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(x.size(1)));
// wrong: Scaled is by the width of what is written, √d. The products that a score sums up are those of q
//   and k: there are h of them.
// - const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));
// + const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(y.size(2)));
// wrong: The scale is missing: the scores are √h times too large.
// - const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));
// + const Tensor scores = matmul(q, transpose(k));
// wrong: Every row has the mask of the first sentence. In a batch each source has its own length.
// - const Tensor weights = masked_softmax(scores, lengths.mask(x.size(1)));
// + const Mask first = Mask::from(1, x.size(1), [&](Size, Size s) { return s < lengths[0]; });
// + const Tensor weights = masked_softmax(scores, first);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The formula, one number at a time.
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
               by_loops(y, x, lengths, w_q, w_k, w_v), "what was read");
  };
  judge.claim("lets two words read a source of three", [&] {
    judge.example("one sentence, two words written, three read, d = 5, m = 2, h = 4, u = 2");
    compare({1, 2, 3, 5, 2, 4, 2}, {3});
  });
  judge.claim("gives each of two sentences its own length", [&] {
    judge.example("two sentences, of 2 and 3 words, and one word written");
    compare({2, 1, 3, 5, 2, 4, 2}, {2, 3});
  });
  judge.claim("keeps padding out, for any sizes", [&] {
    judge.each_size(
        {{"batch", 1, 3}, {"T", 1, 4}, {"S", 1, 5}, {"d", 1, 3}, {"m", 1, 4}, {"h", 1, 3}, {"u", 1, 3}},
        [&](const Sizes& n) {
          std::vector<Size> lengths;
          for (Size b = 0; b < n[0]; ++b) lengths.push_back(b == 0 ? n[2] : judge.random().between(1, n[2]));
          compare(n, lengths);
        });
  });
  judge.claim("lets gradients through to both sentences and all matrices", [&] {
    const ValidLengths lengths = {4, 2};
    judge.gradients([&](const Tensor& y, const Tensor& x, const Tensor& w_q, const Tensor& w_k,
                        const Tensor& w_v) { return cross_attention(y, x, lengths, w_q, w_k, w_v); },
                    {judge.normal({2, 3, 2}), judge.normal({2, 4, 3}), judge.normal({2, 2}),
                     judge.normal({3, 2}), judge.normal({3, 2})});
  });
}
