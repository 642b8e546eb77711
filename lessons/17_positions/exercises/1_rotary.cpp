// 17.1 rotary: Rotary positions
// implement, 15 minutes
//
// Rotary positions turn each row of x (n, d) by angles that grow with its position. d is even. In row p,
// component i of the first half and component i of the second half form a point (a, b). This point is turned by
// the angle p ω_i, where ω_i = 10000^{−2i/d} for i = 0 … d/2 − 1:
//
//     a' = a cos(p ω_i) − b sin(p ω_i),    b' = a sin(p ω_i) + b cos(p ω_i)
//     s_ij = (R_i q_i) · (R_j k_j) / √d
//
// First write the rotation, which returns an (n, d). R_p in the second formula is this rotation for row p. Then
// write the scores of q (n, d) and k (n, d), which are (n, n). Positions begin at 0.
#include "lessons/grader/answer.hpp"

Tensor rotate_rows(const Tensor& x) {
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
  const Tensor products = matmul(rotate_rows(q), transpose(rotate_rows(k)));  // depends only on j − i
  return products / root;
  //]
}

// hint: How many angles are there for n positions and d numbers? Which slices of x have the same shape as the
//   angles?
// hint: Let angle be (n, d/2). Return concat({a * cos(angle) − b * ____, a * ____ + b * cos(angle)}, 1).
// hint: angle is tensor(angles, {n, half}, x.dtype()), computed with two loops, over p and i. The scores are
//   the matmul of the turned queries with the transposed turned keys, divided by √d.
//
// wrong: You turned only the queries. Then the score depends on the query's position, not on the distance. If
//   you move query and key by seven positions, the score changes.
// - const Tensor products = matmul(rotate_rows(q), transpose(rotate_rows(k)));
// + const Tensor products = matmul(rotate_rows(q), transpose(k));
// wrong: You paired the components 2i and 2i + 1, which are neighbours. Some models do this, but here component
//   i of the first half is paired with component i of the second half.
// - const Tensor a = slice(x, 1, 0, half), b = slice(x, 1, half, 2 * half);
// + const Tensor a = slice(x, 1, 0, 2 * half, 2), b = slice(x, 1, 1, 2 * half, 2);
// wrong: You paired the components 2i and 2i + 1, which are neighbours, and returned them to their places. Some
//   models do this, but here component i of the first half is paired with component i of the second half.
// - const Tensor a = slice(x, 1, 0, half), b = slice(x, 1, half, 2 * half);
// - return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
// + const Tensor a = slice(x, 1, 0, 2 * half, 2), b = slice(x, 1, 1, 2 * half, 2);
// + return reshape(stack({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 2), x.shape());
// wrong: You turn in the opposite direction. The scores still depend only on the distance, but on i − j instead
//   of j − i. If you turn (1, 0) by a small angle, the result should be (cos, +sin).
// - return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
// + return concat({a * cos(angle) + b * sin(angle), b * cos(angle) - a * sin(angle)}, 1);
// wrong: Your exponent is −i/d, but it should be −2i/d. There are d/2 hands, so i ends at d/2 − 1, and 2i/d is
//   then nearly 1.
// - const double share = static_cast<double>(i) / static_cast<double>(half);
// + const double share = static_cast<double>(i) / static_cast<double>(2 * half);
// wrong: You count positions from 1. The first row has position 0, so it should stay unchanged.
// - angles.push_back(static_cast<double>(p) * rate);
// + angles.push_back(static_cast<double>(p + 1) * rate);
// wrong: Both sines have the same sign, so this is not a rotation: it changes the norm of (a, b). Compare
//   a² + b² before and after.
// - return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
// + return concat({a * cos(angle) + b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
// wrong: The scale is missing. A rotation keeps norms, so the scores need the division by √d as before.
// - return products / root;
// + return products;

//= judge
#include <complex>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns each pair as a complex number times e^{i p ω}.
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
  judge.claim("turns the second of two rows of width 4 and keeps the first", [&] {
    const Tensor x = tensor({{1, 2, 3, 4}, {1, 2, 3, 4}}, DType::f64);
    judge.example("the row 1, 2, 3, 4 at the positions 0 and 1");
    judge.same(rotate_rows(x), turned_one_by_one(x), "the turned rows");
  });
  judge.claim("turns rows for other sizes", [&] {
    judge.each_size({{"places", 1, 6}, {"d / 2", 1, 4}}, [&](const Sizes& n) {
      const Tensor x = judge.normal({n[0], 2 * n[1]});
      judge.same(rotate_rows(x), turned_one_by_one(x), "the turned rows");
    });
  });
  judge.claim("computes the scores of turned queries and keys", [&] {
    judge.each_size({{"places", 3, 6}, {"d / 2", 1, 4}}, [&](const Sizes& n) {
      const Tensor q = judge.normal({n[0], 2 * n[1]}), k = judge.normal({n[0], 2 * n[1]});
      judge.same(rotary_scores(q, k), scores_one_by_one(q, k), "the scores");
    });
  });
  judge.claim("passes gradients to queries and keys", [&] {
    judge.gradients(rotary_scores, {judge.normal({3, 4}), judge.normal({3, 4})});
  });
}
