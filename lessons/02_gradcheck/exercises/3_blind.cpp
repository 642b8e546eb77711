// 2.3 blind: Cotangents that hide a wrong rule
// derive, 20 minutes
//
// With a badly chosen cotangent, a check passes a wrong rule. Find such a cotangent for each of three mistakes.
// For this cotangent, the wrong rule must give the same gradient as the right rule, for any x, a and b. No row
// of it may be all zeros. It may depend on the inputs: each function receives the arguments of its op.
//
//     softmax, (B, n)           right: y ⊙ (dy − Σ dy ⊙ y)        wrong: its negative
//     x − mean(x), (B, n)       right: dy − mean(dy)              wrong: dy
//     a b, all (n, n)           right: ∂b = aᵀ dy                 wrong: ∂b = dyᵀ a
//
// Sums and means are over a row, and n ≥ 2. For the softmax, no two rows of the cotangent may be equal, so a
// cotangent of ones is not allowed.
#include "lessons/grader/answer.hpp"

Tensor blind_for_softmax(const Tensor& x) {
  //[ a cotangent of x's shape
  //: return not_written_yet();
  const Tensor one_a_row = arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64);
  return expand(unsqueeze(one_a_row, 1), x.shape());  // a row of equal c: Σ c y = c, since Σ y = 1
  //]
}

Tensor blind_for_centring(const Tensor& x) {
  //[ a cotangent of x's shape
  //: return not_written_yet();
  const Tensor any = expand(arange(0, static_cast<double>(x.size(1)), 1, DType::f64), x.shape());
  return any - mean(any, {-1}, Keep::yes);  // its mean is 0, and the wrong rule only omits the mean
  //]
}

Tensor blind_for_product(const Tensor& a, const Tensor& b) {
  //[ a cotangent of shape (n, n)
  //: (void)a, (void)b;
  //: return not_written_yet();
  (void)b;   // neither rule contains b
  return a;  // aᵀ a is its own transpose
  //]
}

// hint: Softmax: a rule and its negative agree only if both are ____. For which dy is Σ dy ⊙ y equal to every
//   dy of the row?
// hint: Softmax: if all dy of a row are c, then Σ dy ⊙ y = c · ____. Centring: the two rules differ by
//   ____. Product: dyᵀ a is the ____ of aᵀ dy. For which dy are they the same matrix?
// hint: Softmax: repeat one number along each row: expand(unsqueeze(numbers, 1), x.shape()), with numbers of
//   shape (B) such as arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64). Centring: take any tensor
//   and subtract its mean(…, {-1}, Keep::yes). Product: one of the two matrices you receive is the answer.
//
// wrong: A cotangent of ones does hide the mistake, but here all of its rows are equal. Which numbers can you
//   change from row to row so that L remains a constant?
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + return ones(x.shape(), DType::f64);
// wrong: You give each column its own number; give each row its own number instead. If the numbers within a row
//   differ, then moving weight from one element to another changes L.
// - const Tensor one_a_row = arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64);
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + const Tensor one_a_column = arange(1, static_cast<double>(x.size(1)) + 1, 1, DType::f64);
// + return expand(one_a_column, x.shape());
// wrong: If the numbers within a row differ, the check sees the sign, since moving weight from one element to
//   another changes L. It doesn't help if they add up to 0 or depend on x: dy − Σ dy ⊙ y must vanish.
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + return x;
// wrong: A cotangent of ones shows this mistake at once: the right rule gives 0, the wrong rule 1. The rules
//   differ by mean(dy).
// - return any - mean(any, {-1}, Keep::yes);
// + return ones(x.shape(), DType::f64);
// wrong: You subtract the mean of the whole tensor. The wrong rule omits the mean of *each row*, so each row
//   must have the mean 0.
// - return any - mean(any, {-1}, Keep::yes);
// + return x - mean(x);
// wrong: A cotangent of zeros hides every mistake of every op, so the task forbids it. gradcheck itself refuses
//   a gradient that is zero everywhere.
// - return any - mean(any, {-1}, Keep::yes);
// + return zeros(x.shape(), DType::f64);
// wrong: With a cotangent of ones, aᵀ dy contains the sums of the columns of a, repeated along each row. Its
//   transpose repeats them down each column. The check sees the difference.
// - return a;
// + return ones(a.shape(), DType::f64);
// wrong: With the identity, the right rule gives aᵀ and the wrong rule a. They agree only if a is symmetric, but
//   a can be any matrix.
// - return a;
// + const Tensor i = unsqueeze(arange(0, static_cast<double>(a.size(0)), 1, DType::f64), 1);
// + return (1 - minimum(abs(i - transpose(i)), ones(a.shape(), DType::f64)));
// wrong: With aᵀ, the right rule gives aᵀ aᵀ and the wrong rule its transpose, a a. Which dy makes aᵀ dy
//   symmetric?
// - return a;
// + return transpose(a);
// wrong: With b, the right rule gives aᵀ b and the wrong rule bᵀ a. Such a product is symmetric if both factors
//   are made from the same matrix.
// - (void)b;
// - return a;
// + return b;

//= judge
#include <set>

#include "lessons/grader/judge/judge.hpp"

namespace {

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const Tensor& x) {
  Rows rows;
  for (Size i = 0; i < x.size(0); ++i) rows.push_back(select(x, 0, i).to_vector());
  return rows;
}

/// Draws rows whose sums differ and are not 0, and whose numbers differ. So no sensible cotangent made from them has a
/// row of zeros or two equal rows by chance.
Tensor lively(Judge& judge, Size rows, Size columns) {
  for (;;) {
    const Tensor x = judge.normal({rows, columns});
    std::set<long> sums{0};
    bool flat = false;
    for (const std::vector<double>& row : rows_of(x)) {
      sums.insert(std::lround(100 * std::accumulate(row.begin(), row.end(), 0.0)));
      flat = flat || *std::min_element(row.begin(), row.end()) == *std::max_element(row.begin(), row.end());
    }
    if (!flat && std::ssize(sums) == rows + 1) return x;
  }
}

/// Checks that `came` is a valid cotangent: it has the shape of y, and none of its rows is all zeros. Returns its rows.
Rows cotangent(Judge& judge, const Tensor& came, const Dims& shape) {
  judge.that(came.defined(), "the cotangent is an empty Tensor; return a tensor with numbers");
  judge.same(came.shape(), shape, "the cotangent");
  const Rows rows = rows_of(came);
  for (const std::vector<double>& row : rows) {
    double largest = 0;
    for (const double c : row) largest = std::max(largest, std::abs(c));
    judge.that(largest > 1e-6, "a row of the cotangent is all zeros", {largest});
  }
  return rows;
}

std::vector<double> weights_of(const std::vector<double>& scores) {
  std::vector<double> weights;
  for (const double s : scores) weights.push_back(std::exp(s));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& w : weights) w /= total;
  return weights;
}

}  // namespace

void judge(Judge& judge) {
  const std::string softmax_rules =
      "the gradient from the wrong rule of softmax (expected: from the right rule)";
  judge.claim("hides the wrong sign of softmax", [&] {
    judge.each_size({{"B", 1, 4}, {"n", 2, 5}}, [&](const Sizes& n) {
      const Tensor x = lively(judge, n[0], n[1]);
      const Rows dy = cotangent(judge, blind_for_softmax(x), x.shape()), scores = rows_of(x);
      for (std::size_t i = 0; i < dy.size(); ++i) {
        const std::vector<double> y = weights_of(scores[i]);
        const double sum = std::inner_product(y.begin(), y.end(), dy[i].begin(), 0.0);
        std::vector<double> right, wrong;
        for (std::size_t j = 0; j < y.size(); ++j) {
          right.push_back(y[j] * (dy[i][j] - sum));
          wrong.push_back(y[j] * (sum - dy[i][j]));
        }
        judge.same(wrong, right, softmax_rules);
        for (std::size_t other = 0; other < i; ++other)
          judge.that(dy[other] != dy[i], "two rows of the cotangent are equal", dy[i]);
      }
    });
  });
  judge.claim("hides the missing mean of x − mean(x)", [&] {
    judge.each_size({{"B", 1, 4}, {"n", 2, 5}}, [&](const Sizes& n) {
      const Tensor x = lively(judge, n[0], n[1]);
      for (const std::vector<double>& dy : cotangent(judge, blind_for_centring(x), x.shape())) {
        const double mean = std::accumulate(dy.begin(), dy.end(), 0.0) / static_cast<double>(dy.size());
        std::vector<double> right = dy;
        for (double& g : right) g -= mean;
        judge.same(dy, right,
                   "the gradient from the wrong rule of x − mean(x) (expected: from the right rule)");
      }
    });
  });
  judge.claim("hides the transposed ∂b of a product", [&] {
    judge.each_size({{"n", 2, 6}}, [&](const Sizes& n) {
      const Tensor a = judge.normal({n[0], n[0]}), b = judge.normal({n[0], n[0]});
      const Tensor came = blind_for_product(a, b);
      const Rows dy = cotangent(judge, came, a.shape()), left = rows_of(a);
      std::vector<double> right, wrong;
      for (std::size_t i = 0; i < dy.size(); ++i)
        for (std::size_t j = 0; j < dy.size(); ++j) {
          double at_ij = 0, at_ji = 0;
          for (std::size_t p = 0; p < dy.size(); ++p) {
            at_ij += left[p][i] * dy[p][j];
            at_ji += left[p][j] * dy[p][i];
          }
          right.push_back(at_ij);
          wrong.push_back(at_ji);
        }
      judge.same(wrong, right, "∂b from the wrong rule, row by row (expected: from the right rule)");
    });
  });
}
