// 2.3 blind: cotangents that see no mistake
// derive, 20 minutes
//
// A check with a badly chosen cotangent passes a wrong rule. Find one for each of three mistakes: a cotangent
// with no row of zeros, for which the wrong rule gives just what the right one does, whatever x, a and b
// are. It may depend on them: each function is given what its op is given.
//
//     softmax, (B, n)           right: y ⊙ (dy − Σ dy ⊙ y)        wrong: its negative
//     x − mean(x), (B, n)       right: dy − mean(dy)              wrong: dy
//     a b, all (n, n)           right: ∂b = aᵀ dy                 wrong: ∂b = dyᵀ a
//
// Sums and means are over a row, n ≥ 2. For the softmax let no two rows be alike, so that ones won't do.
#include "lessons/grader/answer.hpp"

Tensor blind_for_softmax(const Tensor& x) {
  //[ a cotangent of x's shape
  //: return not_written_yet();
  const Tensor one_a_row = arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64);
  return expand(unsqueeze(one_a_row, 1), x.shape());  // c, c, … c: a row's weights add up to 1, so Σ c y = c
  //]
}

Tensor blind_for_centring(const Tensor& x) {
  //[ a cotangent of x's shape
  //: return not_written_yet();
  const Tensor any = expand(arange(0, static_cast<double>(x.size(1)), 1, DType::f64), x.shape());
  return any - mean(any, {-1}, Keep::yes);  // its mean is 0, and that is all that the wrong rule leaves out
  //]
}

Tensor blind_for_product(const Tensor& a, const Tensor& b) {
  //[ a cotangent of shape (n, n)
  //: (void)a, (void)b;
  //: return not_written_yet();
  (void)b;   // is in neither rule
  return a;  // aᵀ a is its own transpose
  //]
}

// hint: Softmax: a rule and its negative agree only where both are ____. Which dy does Σ dy ⊙ y leave as it
//   is?
// hint: Softmax: if all dy of a row are c, then Σ dy ⊙ y = c · ____. Centring: the two rules differ by
//   ____. Product: dyᵀ a is the ____ of aᵀ dy; for which dy is that the same matrix?
// hint: Softmax: a number for each row, repeated along it: expand(unsqueeze(numbers, 1), x.shape()), with
//   numbers of shape (B), as arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64). Centring: take
//   anything, and subtract mean(anything, {-1}, Keep::yes). Product: a matrix that is given to you will do.
//
// wrong: Ones are blind for the softmax, but here all rows are alike. Which numbers may differ from row to
//   row, so that L still stays a constant?
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + return ones(x.shape(), DType::f64);
// wrong: Each column has a number of its own, and each row should. With different numbers in a row, weight
//   that moves from one to another changes L.
// - const Tensor one_a_row = arange(1, static_cast<double>(x.size(0)) + 1, 1, DType::f64);
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + const Tensor one_a_column = arange(1, static_cast<double>(x.size(1)) + 1, 1, DType::f64);
// + return expand(one_a_column, x.shape());
// wrong: Numbers that differ within a row see the sign: weight that moves from one place to another changes
//   L. That they add up to 0, or have to do with x, does not help: what has to vanish is dy − Σ dy ⊙ y.
// - return expand(unsqueeze(one_a_row, 1), x.shape());
// + return x;
// wrong: Ones see this mistake at once: the right rule gives 0, and the wrong one 1. The rules differ by
//   mean(dy).
// - return any - mean(any, {-1}, Keep::yes);
// + return ones(x.shape(), DType::f64);
// wrong: Any number's distance from the mean of all rows together is not enough: the mean of *each row* is
//   left out, so it must be 0 in each.
// - return any - mean(any, {-1}, Keep::yes);
// + return x - mean(x);
// wrong: A cotangent of zeros sees nothing in any op, and nobody would take it: gradcheck itself refuses a
//   gradient that is zero everywhere.
// - return any - mean(any, {-1}, Keep::yes);
// + return zeros(x.shape(), DType::f64);
// wrong: With ones aᵀ dy has the sums of a's columns, repeated along each row; its transpose has them
//   repeated down each column. That is seen.
// - return a;
// + return ones(a.shape(), DType::f64);
// wrong: With the identity the right rule gives aᵀ and the wrong one a. That is blind only if a is its own
//   transpose, and a may be any matrix.
// - return a;
// + const Tensor i = unsqueeze(arange(0, static_cast<double>(a.size(0)), 1, DType::f64), 1);
// + return (1 - minimum(abs(i - transpose(i)), ones(a.shape(), DType::f64)));
// wrong: With aᵀ the right rule gives aᵀ aᵀ, and its transpose is a a. Which dy makes aᵀ dy symmetric?
// - return a;
// + return transpose(a);
// wrong: With b the rules give aᵀ b and bᵀ a. Is a product of a matrix and a transpose its own transpose?
//   If both are the same matrix, it is.
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

/// Rows with sums that differ, none of them 0, and with numbers that differ: nothing sensible that is made of them is a
/// row of zeros, or is alike in two rows, by chance.
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

/// That it can be a cotangent at all: of the shape of y, and no row of it zeros.
Rows cotangent(Judge& judge, const Tensor& came, const Dims& shape) {
  judge.that(came.defined(), "the cotangent is no tensor at all");
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
      "the gradient by the wrong rule of the softmax (expected: by the right one)";
  judge.claim("hides the sign of a softmax", [&] {
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
          judge.that(dy[other] != dy[i], "two rows of the cotangent are alike", dy[i]);
      }
    });
  });
  judge.claim("hides that the mean depends on x", [&] {
    judge.each_size({{"B", 1, 4}, {"n", 2, 5}}, [&](const Sizes& n) {
      const Tensor x = lively(judge, n[0], n[1]);
      for (const std::vector<double>& dy : cotangent(judge, blind_for_centring(x), x.shape())) {
        const double mean = std::accumulate(dy.begin(), dy.end(), 0.0) / static_cast<double>(dy.size());
        std::vector<double> right = dy;
        for (double& g : right) g -= mean;
        judge.same(dy, right, "the gradient by the wrong rule of x − mean(x) (expected: by the right one)");
      }
    });
  });
  judge.claim("hides a transposed ∂b", [&] {
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
      judge.same(wrong, right, "the wrong ∂b, row after row (expected: the right one)");
    });
  });
}
