// 2.3 blind: Cotangents that hide a wrong rule
// derive, 20 minutes
//
// With a badly chosen cotangent, a wrong rule can pass the check. Find such a cotangent for each of three wrong rules.
// If dy is your cotangent, the wrong rule must return the same gradient as the right rule, whatever x, a and b are.
// Each row of your cotangent must have at least one number other than 0. The cotangent may depend on the inputs, so
// each function receives the arguments of its op.
//
//     softmax, (B, n)           right: y ⊙ (dy − Σ dy ⊙ y)        wrong: −y ⊙ (dy − Σ dy ⊙ y)
//     x − mean(x), (B, n)       right: dy − mean(dy)              wrong: dy
//     a b, all (n, n)           right: ∂b = aᵀ dy                 wrong: ∂b = dyᵀ a
//
// Sums and means are over a row, and n ≥ 2. For the softmax, all rows of the cotangent must differ, so a cotangent of
// ones is not allowed.
#include "lessons/grader/answer.hpp"

Tensor blind_for_softmax(const Tensor& x) {
  //[ a cotangent of x's shape
  //: return not_written_yet();
  const Tensor one_a_row = arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64);
  return expand(unsqueeze(one_a_row, 1), x.shape());  // all dy of a row are c: Σ c y = c, as Σ y = 1
  //]
}

Tensor blind_for_centring(const Tensor& x) {
  //[ a cotangent of x's shape
  //: return not_written_yet();
  const Tensor any = expand(arange(0, static_cast<double>(x.size(1)), 1, DType::f64), x.shape());
  return any - mean(any, {-1}, Keep::yes);  // mean(dy) is 0, and the rules differ only by mean(dy)
  //]
}

Tensor blind_for_product(const Tensor& a, const Tensor& b) {
  //[ a cotangent of shape (n, n)
  //: (void)a, (void)b;
  //: return not_written_yet();
  (void)b;   // neither rule contains b
  return a;  // aᵀ a equals its transpose
  //]
}

// hint: For the softmax, the right gradient and its negative are equal only if both are ____. For which dy is Σ dy ⊙ y
//   equal to every dy of the row?
// hint: For the softmax, if all dy of a row are c, then Σ dy ⊙ y = c · ____. For x − mean(x), the two rules differ by
//   ____. For the product, dyᵀ a is the ____ of aᵀ dy. For which dy are these two the same matrix?
// hint: For the softmax, repeat one number along each row with expand(unsqueeze(numbers, 1), x.shape()). The shape of
//   numbers is (B), as in arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64). For x − mean(x), choose a
//   tensor and subtract its mean(…, {-1}, Keep::yes). For the product, return one of the two matrices a and b.
//
// wrong: A cotangent of ones does hide the mistake, but all of its rows are equal. Each row needs different values.
//   Which values keep L independent of x?
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + return ones(x.shape(), DType::f64);
// wrong: In your cotangent, each column has one number. Use one number for each row. If the numbers within a row
//   differ, L depends on x, so the check finds the wrong sign.
// - const Tensor one_a_row = arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64);
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + const Tensor one_a_column = arange(1, static_cast<double>(x.size(1)) + 1, 1, DType::f64);
// + return expand(one_a_column, x.shape());
// wrong: If the numbers within a row differ, the check finds the wrong sign, because L depends on x. Numbers that sum
//   to 0 or depend on x don't hide it either: every dy_i must equal Σ dy ⊙ y.
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + return x;
// wrong: With a cotangent of ones, the right rule returns 0 and the wrong rule returns 1. The two rules differ by
//   mean(dy). For which dy is mean(dy) 0?
// - return any - mean(any, {-1}, Keep::yes);
// + return ones(x.shape(), DType::f64);
// wrong: You subtract the mean of the whole tensor. The wrong rule omits the mean of *each row*, so each row of the
//   cotangent must have the mean 0.
// - return any - mean(any, {-1}, Keep::yes);
// + return x - mean(x);
// wrong: With a cotangent of zeros, every rule passes, so the task forbids it. The library's gradcheck() also rejects a
//   gradient that is 0 everywhere.
// - return any - mean(any, {-1}, Keep::yes);
// + return zeros(x.shape(), DType::f64);
// wrong: With a cotangent of ones, each row of aᵀ dy repeats the sum of one column of a. In the transpose, each column
//   repeats such a sum. So the two gradients differ.
// - return a;
// + return ones(a.shape(), DType::f64);
// wrong: With the identity matrix, the right rule returns aᵀ and the wrong rule returns a. These are equal only if a is
//   symmetric, but a need not be symmetric.
// - return a;
// + const Tensor i = unsqueeze(arange(0, static_cast<double>(a.size(0)), 1, DType::f64), 1);
// + return (1 - minimum(abs(i - transpose(i)), ones(a.shape(), DType::f64)));
// wrong: With aᵀ, the right rule returns aᵀ aᵀ and the wrong rule returns the transpose, a a. For which dy is aᵀ dy
//   symmetric?
// - return a;
// + return transpose(a);
// wrong: With b, the right rule returns aᵀ b and the wrong rule returns bᵀ a. For which matrix in place of b is the
//   product aᵀ b symmetric?
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
