// 7.2 empty_row: Softmax with an empty row
// debug, 15 minutes
//
// softmax_with_mask() takes scores (…, Tq, Tk) and a mask of the same shape, and returns the weights. It must not call
// the library's masked softmax.
//
// Where the mask is false, the weight must be exactly 0, whatever the score is (even NaN). The other weights of a row
// add up to 1. In a row whose mask is all false, all weights are 0, and so is the gradient.
//
// The program trains well until a string is empty. Correct it.
#include "lessons/grader/answer.hpp"

Tensor softmax_with_mask(const Tensor& scores, const Mask& mask) {
  //[ correct it; softmax(x, axis) and where(mask, a, b) are enough
  //: const Tensor lowest = scalar(-std::numeric_limits<double>::infinity(), scores.dtype());
  //: return softmax(where(mask, scores, lowest), -1);
  const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
  const Tensor weights = softmax(where(mask, scores, lowest), -1);  // finite: 1/Tk each in an empty row
  return where(mask, weights, zero);  // sets them to 0, and would do so with the NaN from −∞
  //]
}

// start: In a row without any allowed key, the weights are NaN. Softmax subtracts the largest score before it computes
//   e^…, and in this row that is −∞ − (−∞). One such row is enough to make the whole loss NaN.
//
// hint: What does softmax return for a row of four equal scores, for example four times −1e30? What should this row be?
// hint: softmax(where(mask, scores, ____), -1) is finite in every row if ____ is finite. Which of the weights must
//   still be set to 0?
// hint: After the softmax, use a second where. It returns ____ where the mask is true, and ____ elsewhere.
//
// wrong: The empty row now has equal weights, because all of its scores are the same large negative number. The query
//   gets the mean of values that it must not use, and no NaN warns you.
// - return where(mask, weights, zero);
// + return weights;
// wrong: Your number for hidden scores is not low enough. All allowed scores may be lower. Then a hidden key gets the
//   whole weight, and nothing is left for the allowed keys.
// - const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
// + const Tensor lowest = scalar(-1000, scores.dtype()), zero = scalar(0, scores.dtype());
// wrong: You replace hidden scores by 0. A score of 0 adds e⁰ = 1 to the sum, so the other weights are too small and
//   the rows no longer add up to 1.
// - const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
// + const Tensor lowest = scalar(0, scores.dtype()), zero = scalar(0, scores.dtype());
// wrong: You mask only after the softmax. The hidden scores are part of the sum, so rows add up to less than 1. And a
//   NaN among them makes the whole row NaN.
// - const Tensor weights = softmax(where(mask, scores, lowest), -1);
// + const Tensor weights = softmax(scores, -1);
// wrong: You add a large negative number to the hidden scores. A hidden score may be NaN, and NaN − 1e30 is NaN.
//   Replace the score instead of adding to it.
// - const Tensor weights = softmax(where(mask, scores, lowest), -1);
// + const Tensor weights = softmax(scores + where(mask, zero, lowest), -1);
// wrong: For scores of 710 or more, e^score overflows to ∞, and ∞/∞ is NaN. Softmax subtracts the largest score of the
//   row first. If you do that by hand, subtract the largest allowed score.
// - const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
// - const Tensor weights = softmax(where(mask, scores, lowest), -1);
// - return where(mask, weights, zero);
// + const Tensor zero = scalar(0, scores.dtype()), one = scalar(1, scores.dtype());
// + const Tensor e = where(mask, exp(where(mask, scores, zero)), zero), total = sum(e, {-1}, Keep::yes);
// + return e / where(less(zero, total), total, one);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes each row from the list of its allowed keys.
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
  judge.claim("distributes the weight over the allowed keys", [&] {
    const Tensor scores = tensor({{1, 2, 5}, {3, 1, 1}}, DType::f64);
    judge.example("the scores 1 2 5 and 3 1 1; the first query may attend to two keys, the second to one");
    judge.same(softmax_with_mask(scores, rows_of_2_and_1), by_lists(scores, rows_of_2_and_1), "the weights");
  });
  judge.claim("ignores the scores of hidden keys", [&] {
    const Tensor scores = judge.normal({2, 3});
    judge.example("two rows of three keys, NaN wherever the mask is false");
    judge.same(softmax_with_mask(with_nan(scores, rows_of_2_and_1), rows_of_2_and_1),
               by_lists(scores, rows_of_2_and_1), "the weights");
  });
  judge.claim("returns the weights 0 for a row without any allowed key", [&] {
    const Tensor scores = tensor({{1, 2, 5}, {3, 1, 1}}, DType::f64);
    judge.example("the scores 1 2 5 and 3 1 1; the first query may attend to two keys, the second to none");
    judge.same(softmax_with_mask(scores, second_empty), by_lists(scores, second_empty), "the weights");
  });
  judge.claim("works for very large and very small scores", [&] {
    const Tensor scores = tensor({{1, 2, 5}, {3, 1, 1}}, DType::f64);
    const Tensor weights = by_lists(scores, rows_of_2_and_1);  // adding a constant to a row changes no weight
    judge.example("the same plus a million: 1000001 1000002 1000005 and 1000003 1000001 1000001");
    judge.same(softmax_with_mask(scores + 1e6, rows_of_2_and_1), weights, "the weights");
    judge.example("the same minus four million: −3999999 −3999998 −3999995 and −3999997 −3999999 −3999999");
    judge.same(softmax_with_mask(scores - 4e6, rows_of_2_and_1), weights, "the weights");
  });
  judge.claim("gives an empty row the gradient 0, and all other rows the right gradient", [&] {
    judge.example("two rows of three keys; the first query may attend to two keys, the second to none");
    judge.gradients([&](const Tensor& scores) { return softmax_with_mask(scores, second_empty); },
                    {judge.normal({2, 3})});
  });
  judge.claim("works for any scores and masks", [&] {
    judge.each_size({{"strings", 1, 3}, {"queries", 1, 4}, {"keys", 1, 5}}, [&](const Sizes& n) {
      const Tensor scores = judge.normal({n[0], n[1], n[2]});
      const Mask mask = judge.chances({n[0], n[1], n[2]}, 0.5);
      judge.same(softmax_with_mask(with_nan(scores, mask), mask), by_lists(scores, mask), "the weights");
    });
    const Mask lengths = ValidLengths{{4, 2, 0}, {3, 1, 4}}.mask(4);
    judge.example("two strings of three queries that may attend to 4, 2, 0 and to 3, 1, 4 keys");
    judge.gradients([&](const Tensor& x) { return softmax_with_mask(x, lengths); },
                    {judge.normal({2, 3, 4})});
  });
}
