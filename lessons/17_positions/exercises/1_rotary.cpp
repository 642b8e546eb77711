// 17.1 rotary: turn queries and keys like the hands of a clock
// implement, 15 minutes
//
// Rotary positions turn row p of x (n, d) by the place p. With d even, component i of the first half and
// component i of the second half are a point (a, b) that is turned by the angle p ω_i, with
// ω_i = 10000^{−2i/d} for i = 0 … d/2 − 1:
//
//     a' = a cos(p ω_i) − b sin(p ω_i),    b' = a sin(p ω_i) + b cos(p ω_i)
//     s_ij = (R_i q_i) · (R_j k_j) / √d
//
// First write the turn, (n, d) → (n, d); then the scores of q (n, d) and k (n, d), which are (n, n). Places
// begin at 0.
#include "lessons/grader/answer.hpp"

Tensor turned_by_place(const Tensor& x) {
  //[ about eight lines
  //: return not_written_yet();
  const Size n = x.size(0), half = x.size(1) / 2;
  std::vector<double> angles;  // (n, half), row by row
  for (Size p = 0; p < n; ++p)
    for (Size i = 0; i < half; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(half);  // 2i/d
      const double rate = std::pow(10000.0, -share);
      angles.push_back(static_cast<double>(p) * rate);
    }
  const Tensor angle = tensor(angles, {n, half}, x.dtype());
  const Tensor a = slice(x, 1, 0, half), b = slice(x, 1, half, 2 * half);  // both halves, (n, half)
  return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
  //]
}

Tensor rotary_scores(const Tensor& q, const Tensor& k) {
  //[ one or two lines
  //: return not_written_yet();
  const double root = std::sqrt(static_cast<double>(q.size(1)));
  const Tensor products = matmul(turned_by_place(q), transpose(turned_by_place(k)));  // only j − i is left
  return products / root;
  //]
}

// hint: How many angles are there for n places and d numbers? Which slices of x have as many numbers?
// hint: With angle (n, d/2): concat({a * cos(angle) − b * ____, a * ____ + b * cos(angle)}, 1).
// hint: angle is tensor(angles, {n, half}, x.dtype()), from two loops, over p and i. The scores are a matmul
//   of the turned queries with the turned keys, transposed, over √d.
//
// wrong: Only the queries are turned. Then the score depends on the query's place alone and not on the
//   distance: move both seven places on, and it changes.
// - const Tensor products = matmul(turned_by_place(q), transpose(turned_by_place(k)));
// + const Tensor products = matmul(turned_by_place(q), transpose(k));
// wrong: You pair neighbours, components 2i and 2i + 1. Some models do, but here component i of the first
//   half goes with component i of the second.
// - const Tensor a = slice(x, 1, 0, half), b = slice(x, 1, half, 2 * half);
// + const Tensor a = slice(x, 1, 0, 2 * half, 2), b = slice(x, 1, 1, 2 * half, 2);
// wrong: You pair neighbours, components 2i and 2i + 1, and put them back in their places. Some models do, but here
//   component i of the first half goes with component i of the second.
// - const Tensor a = slice(x, 1, 0, half), b = slice(x, 1, half, 2 * half);
// - return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
// + const Tensor a = slice(x, 1, 0, 2 * half, 2), b = slice(x, 1, 1, 2 * half, 2);
// + return reshape(stack({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 2), x.shape());
// wrong: You turn the other way. The scores of rotated pairs stay a function of the distance, but of i − j
//   where it should be j − i. Turn (1, 0) by a small angle: it should come up, to (cos, +sin).
// - return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
// + return concat({a * cos(angle) + b * sin(angle), b * cos(angle) - a * sin(angle)}, 1);
// wrong: The hands are too fast by a root: you have 10000^{−i/d} where the exponent is −2i/d. There are d/2
//   hands, so i runs to d/2 − 1 only, and 2i/d to nearly 1.
// - const double share = static_cast<double>(i) / static_cast<double>(half);
// + const double share = static_cast<double>(i) / static_cast<double>(2 * half);
// wrong: Places are counted from 1 here. The first row, at place 0, should stay as it is.
// - angles.push_back(static_cast<double>(p) * rate);
// + angles.push_back(static_cast<double>(p + 1) * rate);
// wrong: Both sines have the same sign. That is no turn: it changes the length of (a, b). Compare a² + b²
//   before and after.
// - return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
// + return concat({a * cos(angle) + b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
// wrong: The scale is missing: turning keeps lengths, so the scores need √d as before.
// - return products / root;
// + return products;

//= judge
#include <complex>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// Each pair as a complex number times e^{i p ω}.
std::vector<std::complex<double>> hands(const Tensor& x, Size place) {
  const Size half = x.size(1) / 2;
  std::vector<std::complex<double>> out;
  for (Size i = 0; i < half; ++i) {
    const double rate = 1 / std::pow(10000.0, 2.0 * static_cast<double>(i) / static_cast<double>(2 * half));
    out.push_back(std::complex<double>(x.at({place, i}), x.at({place, half + i})) *
                  std::polar(1.0, static_cast<double>(place) * rate));
  }
  return out;
}

Tensor turned_one_by_one(const Tensor& x) {
  std::vector<double> values;
  for (Size p = 0; p < x.size(0); ++p) {
    const auto row = hands(x, p);
    for (const auto& z : row) values.push_back(z.real());
    for (const auto& z : row) values.push_back(z.imag());
  }
  return tensor(values, x.shape(), DType::f64);
}

Tensor scores_one_by_one(const Tensor& q, const Tensor& k) {
  std::vector<double> values;
  for (Size i = 0; i < q.size(0); ++i)
    for (Size j = 0; j < k.size(0); ++j) {
      const auto a = hands(q, i), b = hands(k, j);
      double dot = 0;
      for (std::size_t c = 0; c < a.size(); ++c) dot += (std::conj(a[c]) * b[c]).real();
      values.push_back(dot / std::sqrt(static_cast<double>(q.size(1))));
    }
  return tensor(values, {q.size(0), k.size(0)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("turns the second of two rows of width 4, and leaves the first", [&] {
    const Tensor x = tensor({{1, 2, 3, 4}, {1, 2, 3, 4}}, DType::f64);
    judge.example("the row 1, 2, 3, 4 at the places 0 and 1");
    judge.same(turned_by_place(x), turned_one_by_one(x), "the turned rows");
  });
  judge.claim("turns any number of rows of any even width", [&] {
    judge.each_size({{"places", 1, 6}, {"d / 2", 1, 4}}, [&](const Sizes& n) {
      const Tensor x = judge.normal({n[0], 2 * n[1]});
      judge.same(turned_by_place(x), turned_one_by_one(x), "the turned rows");
    });
  });
  judge.claim("scores pairs by what is turned", [&] {
    judge.each_size({{"places", 3, 6}, {"d / 2", 1, 4}}, [&](const Sizes& n) {
      const Tensor q = judge.normal({n[0], 2 * n[1]}), k = judge.normal({n[0], 2 * n[1]});
      judge.same(rotary_scores(q, k), scores_one_by_one(q, k), "the scores");
    });
  });
  judge.claim("lets gradients through to queries and keys", [&] {
    judge.gradients(rotary_scores, {judge.normal({3, 4}), judge.normal({3, 4})});
  });
}
