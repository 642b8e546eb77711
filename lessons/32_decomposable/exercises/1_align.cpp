// 32.1 align: one table, both directions
// implement, 15 minutes
//
// The table e (B, n, m) holds the score of each word of the premise a (B, n, d) with each of the hypothesis b
// (B, m, d). Give each word its counterpart in the other sentence:
//
//     β_i = Σ_j softmax_j(e_ij) b_j        (B, n, d)              α_j = Σ_i softmax_i(e_ij) a_i        (B, m, d)
//
// is_a (B, 1, n) and is_b (B, 1, m) are true for words, false for padding, which must get no weight.
#include "lessons/grader/answer.hpp"

struct Aligned {
  Tensor beta, alpha;
};

Aligned align(const Tensor& e, const Tensor& a, const Tensor& b, const Mask& is_a, const Mask& is_b) {
  //[ two or three lines
  //: static_cast<void>(e.size(0)), static_cast<void>(a.size(0)), static_cast<void>(b.size(0));
  //: static_cast<void>(is_a.shape()), static_cast<void>(is_b.shape());
  //: return not_written_yet();
  const Tensor rows = masked_softmax(e, is_b);                // (B, n, m): over the hypothesis
  const Tensor columns = masked_softmax(transpose(e), is_a);  // (B, m, n): over the premise
  return {matmul(rows, b), matmul(columns, a)};
  //]
}

// hint: Which axis of e runs over the words of the hypothesis, and over which does β's softmax run?
// hint: masked_softmax takes the last axis. What has to be done with e before a softmax over the words of the
//   premise?
// hint: β is matmul(masked_softmax(e, ____), b), α is matmul(masked_softmax(transpose(e), ____), a).
//
// wrong: α has the weights of β, transposed: they sum to 1 over the hypothesis, not over the premise. The table is
//   the same in both directions, the softmax is not.
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + const Tensor columns = transpose(rows);
// wrong: The two directions are exchanged: β must be made of words of the hypothesis.
// - return {matmul(rows, b), matmul(columns, a)};
// + return {matmul(columns, a), matmul(rows, b)};
// wrong: The masks are exchanged: β's softmax runs over the hypothesis, whose words is_b marks.
// - const Tensor rows = masked_softmax(e, is_b);
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + const Tensor rows = masked_softmax(e, is_a);
// + const Tensor columns = masked_softmax(transpose(e), is_b);
// wrong: Padding gets weight: the masks are not used.
// - const Tensor rows = masked_softmax(e, is_b);
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + static_cast<void>(is_a.shape()), static_cast<void>(is_b.shape());
// + const Tensor rows = softmax(e, -1);
// + const Tensor columns = softmax(transpose(e), -1);
// wrong: Padding of the premise gets weight in α: only β's softmax has its mask.
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + static_cast<void>(is_a.shape());
// + const Tensor columns = softmax(transpose(e), -1);
// wrong: The mask came after the softmax: padding has had its share of the sum already.
// - const Tensor rows = masked_softmax(e, is_b);
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + const Tensor zero = scalar(0, e.dtype());
// + const Tensor rows = where(is_b, softmax(e, -1), zero);
// + const Tensor columns = where(is_a, softmax(transpose(e), -1), zero);
// wrong: A score of −100 is no mask: where words score lower still, padding gets the weight.
// - const Tensor rows = masked_softmax(e, is_b);
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + const Tensor low = scalar(-100, e.dtype());
// + const Tensor rows = softmax(where(is_b, e, low), -1);
// + const Tensor columns = softmax(where(is_a, transpose(e), low), -1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Σ over the other sentence's words; `score` gives e of word i of this one and word j of the other.
template <class Score>
Tensor by_loops(const Score& score, Size batch, Size words, const Tensor& other, const Mask& is_other) {
  const std::vector<bool> counts = is_other.to_vector();
  const Size others = other.size(1), width = other.size(2);
  std::vector<double> all;
  for (Size row = 0; row < batch; ++row)
    for (Size i = 0; i < words; ++i) {
      std::vector<double> sum(static_cast<std::size_t>(width), 0.0);
      double total = 0;
      for (Size j = 0; j < others; ++j) {
        if (!counts[static_cast<std::size_t>(row * others + j)]) continue;
        const double weight = std::exp(score(row, i, j));
        total += weight;
        for (Size c = 0; c < width; ++c) sum[static_cast<std::size_t>(c)] += weight * other.at({row, j, c});
      }
      for (const double x : sum) all.push_back(x / total);
    }
  return tensor(all, {batch, words, width}, DType::f64);
}

void compare(Judge& judge, const Tensor& e, const Tensor& a, const Tensor& b, const ValidLengths& of_a,
             const ValidLengths& of_b) {
  const Mask is_a = of_a.mask(a.size(1)), is_b = of_b.mask(b.size(1));
  const Aligned came = align(e, a, b, is_a, is_b);
  const auto score = [&](Size row, Size i, Size j) { return e.at({row, i, j}); };
  const auto turned = [&](Size row, Size j, Size i) { return e.at({row, i, j}); };
  judge.same(came.beta, by_loops(score, a.size(0), a.size(1), b, is_b), "β");
  judge.same(came.alpha, by_loops(turned, b.size(0), b.size(1), a, is_a), "α");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("aligns two words with three", [&] {
    judge.example("one pair, and nothing is padding");
    compare(judge, judge.normal({1, 2, 3}), judge.normal({1, 2, 4}), judge.normal({1, 3, 4}), {2}, {3});
  });
  judge.claim("gives padding no weight", [&] {
    judge.example(
        "two pairs of 4 and 5 places, of which 2 and 4 are words in the premises, 3 and 5 in the others");
    compare(judge, judge.normal({2, 4, 5}), judge.normal({2, 4, 3}), judge.normal({2, 5, 3}), {2, 4}, {3, 5});
  });
  judge.claim("gives it none where all scores are low, either", [&] {
    judge.example("scores near −300, one pair of 3 and 3 places, of which 2 are words");
    compare(judge, judge.normal({1, 3, 3}) - 300.0, judge.normal({1, 3, 2}), judge.normal({1, 3, 2}), {2},
            {2});
  });
  judge.claim("does so for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"premise", 1, 4}, {"hypothesis", 1, 5}}, [&](const Sizes& n) {
      std::vector<Size> of_a, of_b;
      for (Size row = 0; row < n[0]; ++row)
        of_a.push_back(judge.random().between(1, n[1])), of_b.push_back(judge.random().between(1, n[2]));
      compare(judge, judge.normal({n[0], n[1], n[2]}), judge.normal({n[0], n[1], 2}),
              judge.normal({n[0], n[2], 2}), ValidLengths(of_a), ValidLengths(of_b));
    });
  });
}
