// 32.1 align: One table, two softmaxes
// implement, 15 minutes
//
// The premises a (B, n, d) have n words each, and the hypotheses b (B, m, d) have m words. The table e (B, n, m) has
// a score for each pair of a word of the premise and a word of the hypothesis. For each word, return its counterpart
// in the other sentence:
//
//     β_i = Σ_j softmax_j(e_ij) b_j        (B, n, d)              α_j = Σ_i softmax_i(e_ij) a_i        (B, m, d)
//
// is_a (B, 1, n) and is_b (B, 1, m) are true for words and false for padding. Padding must get no weight.
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

// hint: Which axis of e belongs to the words of the hypothesis, and over which axis is β's softmax?
// hint: masked_softmax is over the last axis. What must you do with e before a softmax over the words of the premise?
// hint: β is matmul(masked_softmax(e, ____), b), and α is matmul(masked_softmax(transpose(e), ____), a).
//
// wrong: α has the weights of β, transposed. They sum to 1 over the hypothesis, not over the premise. Both directions
//   use the same table, but different softmaxes.
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + const Tensor columns = transpose(rows);
// wrong: You exchanged the two directions. β is a weighted average of the words of the hypothesis.
// - return {matmul(rows, b), matmul(columns, a)};
// + return {matmul(columns, a), matmul(rows, b)};
// wrong: You exchanged the masks. β's softmax is over the hypothesis, whose words is_b marks.
// - const Tensor rows = masked_softmax(e, is_b);
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + const Tensor rows = masked_softmax(e, is_a);
// + const Tensor columns = masked_softmax(transpose(e), is_b);
// wrong: Padding gets weight, because you don't use the masks.
// - const Tensor rows = masked_softmax(e, is_b);
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + static_cast<void>(is_a.shape()), static_cast<void>(is_b.shape());
// + const Tensor rows = softmax(e, -1);
// + const Tensor columns = softmax(transpose(e), -1);
// wrong: Padding of the premise gets weight in α, because only β's softmax has a mask.
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + static_cast<void>(is_a.shape());
// + const Tensor columns = softmax(transpose(e), -1);
// wrong: You applied the mask after the softmax. The softmax has already given a part of the sum to padding.
// - const Tensor rows = masked_softmax(e, is_b);
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + const Tensor zero = scalar(0, e.dtype());
// + const Tensor rows = where(is_b, softmax(e, -1), zero);
// + const Tensor columns = where(is_a, softmax(transpose(e), -1), zero);
// wrong: A score of −100 is not a mask. If the scores of the words are lower than −100, padding gets the weight.
// - const Tensor rows = masked_softmax(e, is_b);
// - const Tensor columns = masked_softmax(transpose(e), is_a);
// + const Tensor low = scalar(-100, e.dtype());
// + const Tensor rows = softmax(where(is_b, e, low), -1);
// + const Tensor columns = softmax(where(is_a, transpose(e), low), -1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the sums over the other sentence's words. `score` returns e for word i of this sentence and word j of the
/// other sentence.
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
    judge.example("one pair without padding");
    compare(judge, judge.normal({1, 2, 3}), judge.normal({1, 2, 4}), judge.normal({1, 3, 4}), {2}, {3});
  });
  judge.claim("gives padding no weight", [&] {
    judge.example(
        "two pairs with 4 and 5 positions; the premises have 2 and 4 words, and the hypotheses "
        "have 3 and 5");
    compare(judge, judge.normal({2, 4, 5}), judge.normal({2, 4, 3}), judge.normal({2, 5, 3}), {2, 4}, {3, 5});
  });
  judge.claim("gives padding no weight if all scores are low", [&] {
    judge.example("scores near −300, one pair with 3 and 3 positions, of which 2 and 2 are words");
    compare(judge, judge.normal({1, 3, 3}) - 300.0, judge.normal({1, 3, 2}), judge.normal({1, 3, 2}), {2},
            {2});
  });
  judge.claim("works for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"premise", 1, 4}, {"hypothesis", 1, 5}}, [&](const Sizes& n) {
      std::vector<Size> of_a, of_b;
      for (Size row = 0; row < n[0]; ++row)
        of_a.push_back(judge.random().between(1, n[1])), of_b.push_back(judge.random().between(1, n[2]));
      compare(judge, judge.normal({n[0], n[1], n[2]}), judge.normal({n[0], n[1], 2}),
              judge.normal({n[0], n[2], 2}), ValidLengths(of_a), ValidLengths(of_b));
    });
  });
}
