// 7.2 empty_row: a softmax that has nothing to share out
// debug, 15 minutes
//
// A masked softmax without the library's: scores (…, Tq, Tk) and a mask of the same shape give weights. Where
// the mask is false a weight is exactly 0, whatever stands there (even NaN); the others of a row add up to 1.
// A row that is all false has weights 0, and its gradient is 0, too. The program below trains well until a
// text is empty.
#include "lessons/grader/answer.hpp"

Tensor softmax_with_mask(const Tensor& scores, const Mask& mask) {
  //[ mend it; softmax(x, axis) and where(mask, a, b) are enough
  //: const Tensor lowest = scalar(-std::numeric_limits<double>::infinity(), scores.dtype());
  //: return softmax(where(mask, scores, lowest), -1);
  const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
  const Tensor weights = softmax(where(mask, scores, lowest), -1);  // finite: 1/Tk each in an empty row
  return where(mask, weights, zero);  // here that is taken away, as would be the NaN that −∞ leaves
  //]
}

// start: In a row without any key the weights are NaN. The softmax takes the largest score away before e^…,
//   and in this row that is −∞ − (−∞). One such row is enough to make the whole loss NaN.
//
// hint: What does softmax give for a row of four equal scores, say four times −1e30? What should this row be?
// hint: softmax(where(mask, scores, ____), -1) is finite in every row if ____ is finite. Which places of it
//   must still be set to 0?
// hint: After the softmax comes a second where: it keeps ____ where the mask is true, and has ____ elsewhere.
//
// wrong: The empty row has equal weights now: all of its scores are the same large negative number. It reads
//   the mean of what it must not see, and nothing looks wrong, no NaN warns you.
// - return where(mask, weights, zero);
// + return weights;
// wrong: Your number for hidden scores is not low enough. Scores may all be lower than that, and then a hidden
//   place takes the whole weight and none is left for those that are allowed.
// - const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
// + const Tensor lowest = scalar(-1000, scores.dtype()), zero = scalar(0, scores.dtype());
// wrong: You hide scores behind a 0. A score of 0 counts as e⁰ = 1 in the sum, so what the others get is too
//   little: rows no longer add up to 1.
// - const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
// + const Tensor lowest = scalar(0, scores.dtype()), zero = scalar(0, scores.dtype());
// wrong: You mask after the softmax only. The hidden scores had a part in the sum, so rows add up to less
//   than 1, and a NaN among them makes the whole row NaN.
// - const Tensor weights = softmax(where(mask, scores, lowest), -1);
// + const Tensor weights = softmax(scores, -1);
// wrong: You add a large negative number to what is hidden. What stands there may be NaN, and NaN − 1e30 is
//   NaN: replace it instead of adding to it.
// - const Tensor weights = softmax(where(mask, scores, lowest), -1);
// + const Tensor weights = softmax(scores + where(mask, zero, lowest), -1);
// wrong: e to a large score is no number any more: from 710 on it is ∞, and ∞/∞ is NaN. Softmax takes the
//   largest score of the row away first. If you do so by hand, take the largest of those that are allowed.
// - const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
// - const Tensor weights = softmax(where(mask, scores, lowest), -1);
// - return where(mask, weights, zero);
// + const Tensor zero = scalar(0, scores.dtype()), one = scalar(1, scores.dtype());
// + const Tensor e = where(mask, exp(where(mask, scores, zero)), zero), total = sum(e, {-1}, Keep::yes);
// + return e / where(less(zero, total), total, one);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Row by row, over the list of the keys that are allowed.
Tensor by_lists(const Tensor& scores, const Mask& mask) {
  const std::vector<double> s = scores.to_vector();
  const std::vector<bool> allowed = mask.to_vector();
  const auto keys = static_cast<std::size_t>(scores.size(-1));
  std::vector<double> weights(s.size(), 0);
  for (std::size_t row = 0; row < s.size(); row += keys) {
    double whole = 0;
    for (std::size_t j = row; j < row + keys; ++j)
      if (allowed[j]) whole += std::exp(s[j]);
    for (std::size_t j = row; j < row + keys; ++j)
      if (allowed[j]) weights[j] = std::exp(s[j]) / whole;
  }
  return tensor(weights, scores.shape(), scores.dtype());
}

Tensor with_nan(const Tensor& scores, const Mask& mask) {
  return where(mask, scores, scalar(std::numeric_limits<double>::quiet_NaN(), scores.dtype()));
}

}  // namespace

void judge(Judge& judge) {
  const Mask rows_of_2_and_1 = ValidLengths{{2, 1}}.mask(3).reshape({2, 3});
  const Mask second_empty = ValidLengths{{2, 0}}.mask(3).reshape({2, 3});
  judge.claim("shares the weight out among the keys that are allowed", [&] {
    const Tensor scores = tensor({{1, 2, 5}, {3, 1, 1}}, DType::f64);
    judge.example("the scores 1 2 5 and 3 1 1; the first row may see two keys, the second one");
    judge.same(softmax_with_mask(scores, rows_of_2_and_1), by_lists(scores, rows_of_2_and_1), "the weights");
  });
  judge.claim("does not look at what stands in a hidden place", [&] {
    const Tensor scores = judge.normal({2, 3});
    judge.example("two rows of three keys, NaN wherever the mask is false");
    judge.same(softmax_with_mask(with_nan(scores, rows_of_2_and_1), rows_of_2_and_1),
               by_lists(scores, rows_of_2_and_1), "the weights");
  });
  judge.claim("gives a row without any key the weights 0", [&] {
    const Tensor scores = tensor({{1, 2, 5}, {3, 1, 1}}, DType::f64);
    judge.example("the scores 1 2 5 and 3 1 1; the first row may see two keys, the second none");
    judge.same(softmax_with_mask(scores, second_empty), by_lists(scores, second_empty), "the weights");
  });
  judge.claim("does so for scores that are all very large or very small", [&] {
    const Tensor scores = tensor({{1, 2, 5}, {3, 1, 1}}, DType::f64);
    const Tensor weights = by_lists(scores, rows_of_2_and_1);  // a constant in all scores changes no weight
    judge.example("a million more: 1000001 1000002 1000005 and 1000003 1000001 1000001");
    judge.same(softmax_with_mask(scores + 1e6, rows_of_2_and_1), weights, "the weights");
    judge.example("four million less: −3999999 −3999998 −3999995 and −3999997 −3999999 −3999999");
    judge.same(softmax_with_mask(scores - 4e6, rows_of_2_and_1), weights, "the weights");
  });
  judge.claim("gives that row the gradient 0, and the others theirs", [&] {
    judge.example("two rows of three keys; the first row may see two, the second none");
    judge.gradients([&](const Tensor& scores) { return softmax_with_mask(scores, second_empty); },
                    {judge.normal({2, 3})});
  });
  judge.claim("does all this for any scores and masks", [&] {
    judge.each_size({{"texts", 1, 3}, {"queries", 1, 4}, {"keys", 1, 5}}, [&](const Sizes& n) {
      const Tensor scores = judge.normal({n[0], n[1], n[2]});
      const Mask mask = judge.chances({n[0], n[1], n[2]}, 0.5);
      judge.same(softmax_with_mask(with_nan(scores, mask), mask), by_lists(scores, mask), "the weights");
    });
    const Mask lengths = ValidLengths{{4, 2, 0}, {3, 1, 4}}.mask(4);
    judge.example("two texts of three queries that see 4, 2, 0 and 3, 1, 4 keys");
    judge.gradients([&](const Tensor& x) { return softmax_with_mask(x, lengths); },
                    {judge.normal({2, 3, 4})});
  });
}
