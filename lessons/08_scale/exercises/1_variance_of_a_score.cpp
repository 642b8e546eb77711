// 8.1 variance_of_a_score: The divisor for other means and variances
// derive, 15 minutes
//
// Dividing q · k by √d is right if the numbers of q and k have mean 0 and variance 1. Now let each number of q have the
// mean m_q and the variance v_q, and each number of k the mean m_k and the variance v_k. All numbers are independent.
//
// q · k is a sum of d products. Derive the divisor that gives q · k the variance 1.
//
// For independent x and y, E(xy) = E x · E y. The expected square is E x² = variance + mean². Follow the steps of the
// lesson: first the variance of one product, then the variance of the sum.
#include "lessons/grader/answer.hpp"

double divisor_of_scores(double d, double m_q, double v_q, double m_k, double v_k) {
  //[ one to three lines
  //: return not_written_yet();
  const double squares = (v_q + m_q * m_q) * (v_k + m_k * m_k);  // E (q_i k_i)² = E q_i² · E k_i²
  const double mean = m_q * m_k;                                 // E q_i k_i
  return std::sqrt(d * (squares - mean * mean));                 // the variances of d products add up
  //]
}

// hint: Write the variance of x with E x² and E x. Then set x = q_i k_i.
// hint: Var(q_i k_i) = E q_i² · E k_i² − (____)², with E q_i² = v_q + m_q². The variance of the sum is d times this.
// hint: Dividing a number by c divides its variance by c². So the divisor is std::sqrt(d * (… - …)).
//
// wrong: You returned √d. That is right only if all variances are 1 and all means are 0.
// - return std::sqrt(d * (squares - mean * mean));
// + return std::sqrt(d);
// wrong: You returned the variance of q · k. Dividing by c divides the variance by c², so the divisor is its root.
// - return std::sqrt(d * (squares - mean * mean));
// + return d * (squares - mean * mean);
// wrong: You left out the means. With equal variances, numbers around 3 have larger squares than numbers around 0:
//   E q² is v + m².
// - const double squares = (v_q + m_q * m_q) * (v_k + m_k * m_k);
// - const double mean = m_q * m_k;
// + const double squares = v_q * v_k;
// + const double mean = 0;
// wrong: You used E(x²) as the variance. Subtract the square of the mean. If q and k were constants, q · k would be a
//   constant too, and its variance would be 0.
// - return std::sqrt(d * (squares - mean * mean));
// + return std::sqrt(d * squares);
// wrong: You multiplied the standard deviation by d. Standard deviations do not add up, but variances do. Put d under
//   the root.
// - return std::sqrt(d * (squares - mean * mean));
// + return d * std::sqrt(squares - mean * mean);
// wrong: You added the variances of q and k. That gives the variance of q + k. For a product, multiply E q² and E k².
// - const double squares = (v_q + m_q * m_q) * (v_k + m_k * m_k);
// + const double squares = v_q + v_k + m_q * m_q * m_k * m_k;
// wrong: d is missing. You returned the standard deviation of one product, but q · k is a sum of d products.
// - return std::sqrt(d * (squares - mean * mean));
// + return std::sqrt(squares - mean * mean);
// wrong: You returned the factor, 1 divided by the standard deviation. Return the number by which q · k is divided.
// - return std::sqrt(d * (squares - mean * mean));
// + return 1 / std::sqrt(d * (squares - mean * mean));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the standard deviation of q · k where each number is its mean plus or minus its standard deviation, with
/// equal probability. Goes through all 4^d cases.
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
  judge.claim("is the standard deviation of q · k for one choice of means and variances", [&] {
    judge.example("d = 3, q with mean 1 and variance 4, k with mean 2 and variance 9");
    same(judge, 3, 1, 4, 2, 9);
  });
  judge.claim("is √d for standard normal numbers", [&] {
    judge.example("d = 4, both means 0 and both variances 1");
    same(judge, 4, 0, 1, 0, 1);
  });
  judge.claim("is the standard deviation for any d, means and variances", [&] {
    judge.each_size({{"d", 1, 6}},
                    [&](const Sizes& n) {
                      const Tensor m = judge.normal({2}), v = judge.uniform({2}, 0.1, 5);
                      same(judge, n[0], m.at({0}), v.at({0}), m.at({1}), v.at({1}));
                    },
                    {.larger = false});
  });
}
