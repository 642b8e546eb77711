// 8.1 variance_of_a_score: by what to divide if q and k are not standard normal
// derive, 15 minutes
//
// √d is right for numbers with mean 0 and variance 1. Let all numbers of q have the mean m_q and the variance
// v_q, those of k the mean m_k and the variance v_k, all of them independent. Derive by what q · k, a sum of
// d products, must be divided so that its variance is 1.
//
// For independent x and y, E(xy) = E x · E y, and E x² = variance + mean². The lesson's steps lead there:
// first one product, then the sum.
#include "lessons/grader/answer.hpp"

double divisor_of_scores(double d, double m_q, double v_q, double m_k, double v_k) {
  //[ one to three lines
  //: return not_written_yet();
  const double squares = (v_q + m_q * m_q) * (v_k + m_k * m_k);  // E (q_i k_i)² = E q_i² · E k_i²
  const double mean = m_q * m_k;                                 // E q_i k_i
  return std::sqrt(d * (squares - mean * mean));  // variances of d products add up; then the root
  //]
}

// hint: What is the variance of x, written with E x² and E x? Put x = q_i k_i.
// hint: Var(q_i k_i) = E q_i² · E k_i² − (____)², with E q_i² = v_q + m_q². The variance of the sum is d
//   times this.
// hint: Divided by c, a variance is divided by c². So the divisor is std::sqrt(d * (… - …)).
//
// wrong: That is √d, as if all variances were 1 and all means 0.
// - return std::sqrt(d * (squares - mean * mean));
// + return std::sqrt(d);
// wrong: That is the variance of q · k. Divided by c, a variance falls by c²: divide by its root.
// - return std::sqrt(d * (squares - mean * mean));
// + return d * (squares - mean * mean);
// wrong: You left the means out. Even with equal variances, numbers around 3 have larger squares than numbers
//   around 0, and E q² is v + m².
// - const double squares = (v_q + m_q * m_q) * (v_k + m_k * m_k);
// - const double mean = m_q * m_k;
// + const double squares = v_q * v_k;
// + const double mean = 0;
// wrong: You took E(x²) for the variance. The square of the mean has to be taken away: if q and k were
//   constants, q · k would be one, too, and its variance 0.
// - return std::sqrt(d * (squares - mean * mean));
// + return std::sqrt(d * squares);
// wrong: d is under no root: deviations do not add up, variances do.
// - return std::sqrt(d * (squares - mean * mean));
// + return d * std::sqrt(squares - mean * mean);
// wrong: You added the variances of q and k. That is the variance of q + k; for a product E q² and E k² are
//   multiplied.
// - const double squares = (v_q + m_q * m_q) * (v_k + m_k * m_k);
// + const double squares = v_q + v_k + m_q * m_q * m_k * m_k;
// wrong: d is missing: that is the deviation of one product, and q · k is a sum of d of them.
// - return std::sqrt(d * (squares - mean * mean));
// + return std::sqrt(squares - mean * mean);
// wrong: That is the factor, 1 divided by the deviation. Asked for is the number by which q · k is divided.
// - return std::sqrt(d * (squares - mean * mean));
// + return 1 / std::sqrt(d * (squares - mean * mean));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The deviation of q · k where each number is its mean plus or minus its deviation, both equally likely: all
/// 4^d cases are looked at.
double by_all_cases(Size d, double m_q, double v_q, double m_k, double v_k) {
  const Size cases = Size{1} << (2 * d);
  double sum = 0, squares = 0;
  for (Size one = 0; one < cases; ++one) {
    double score = 0;
    for (Size i = 0; i < d; ++i) {
      const double q = m_q + ((one >> (2 * i)) & 1 ? 1 : -1) * std::sqrt(v_q);
      const double k = m_k + ((one >> (2 * i + 1)) & 1 ? 1 : -1) * std::sqrt(v_k);
      score += q * k;
    }
    sum += score;
    squares += score * score;
  }
  const auto count = static_cast<double>(cases);
  return std::sqrt(squares / count - sum / count * (sum / count));
}

}  // namespace

void judge(Judge& judge) {
  const auto same = [](Judge& with, Size d, double m_q, double v_q, double m_k, double v_k) {
    with.same(divisor_of_scores(static_cast<double>(d), m_q, v_q, m_k, v_k),
              by_all_cases(d, m_q, v_q, m_k, v_k), "the divisor");
  };
  judge.claim("is the deviation of q · k for one choice of numbers", [&] {
    judge.example("d = 3, q with mean 1 and variance 4, k with mean 2 and variance 9");
    same(judge, 3, 1, 4, 2, 9);
  });
  judge.claim("is √d for standard normal numbers", [&] {
    judge.example("d = 4, both means 0 and both variances 1");
    same(judge, 4, 0, 1, 0, 1);
  });
  judge.claim("is the deviation for any d, means and variances", [&] {
    judge.each_size({{"d", 1, 6}},
                    [&](const Sizes& n) {
                      const Tensor m = judge.normal({2}), v = judge.uniform({2}, 0.1, 5);
                      same(judge, n[0], m.at({0}), v.at({0}), m.at({1}), v.at({1}));
                    },
                    {.larger = false});
  });
}
