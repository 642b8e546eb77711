// 8.3 how_large: The size of scores and Jacobians
// predict, 10 minutes
//
// The numbers of q and k are independent, with mean 0. Their variance is 1 and d = 256, unless a comment says
// otherwise.
//
// First predict the size of the scores. (The standard deviation is the root of the variance.) Then predict ‖J‖ of the
// softmax for weights α over ten keys: the root of the sum of the squares of all α_i (δ_ij − α_j), where δ_ij is 1 if
// i = j, and 0 otherwise.
//
// The judge draws 600 queries and 600 keys, and accepts a difference of 5 % for chance. It computes ‖J‖ with the tape.
#include "lessons/grader/answer.hpp"

double deviation_of_scores() {
  //[ the standard deviation of q · k
  //: return not_written_yet();
  return 16;  // 256 products of variance 1: √256
  //]
}

double deviation_divided_by_d() {
  //[ the standard deviation of q · k / d, where the divisor is d, not √d
  //: return not_written_yet();
  return 1 / 16.0;  // 16 / 256; it falls with d, until all keys get equal weights
  //]
}

double variance_with_larger_queries() {
  //[ the variance of q · k / √d if the numbers of q have variance 4, and those of k variance 1
  //: return not_written_yet();
  return 4;  // each product has variance 4 · 1
  //]
}

double deviation_with_d_quadrupled() {
  //[ the standard deviation of q · k / √d for d = 1024
  //: return not_written_yet();
  return 1;  // that is what √d is for
  //]
}

double norm_for_equal_weights() {
  //[ ‖J‖ if all ten weights are 1/10
  //: return not_written_yet();
  return 0.3;  // ten times (0.1 · 0.9)², ninety times (0.1 · 0.1)²: 0.081 + 0.009 = 0.09
  //]
}

double norm_for_one_hot_weights() {
  //[ ‖J‖ if one weight is 1 and nine are 0
  //: return not_written_yet();
  return 0;  // each product has a factor of 0
  //]
}

// hint: The variances of independent products add up. What is the variance of one product q_i k_i?
// hint: Dividing a number by c divides its standard deviation by c, and its variance by ____.
// hint: J has ten diagonal entries α_i (1 − α_i), and ninety other entries −α_i α_j.
//
// wrong: You returned the variance, d. The standard deviation is its root.
// - return 16;  // 256 products of variance 1: √256
// + return 256;
// wrong: You returned the standard deviation of q · k / √d. Here, the score is not divided.
// - return 16;  // 256 products of variance 1: √256
// + return 1;
// wrong: You returned the standard deviation of q · k / √d. Here the divisor is 256, and the standard deviation of
//   q · k is only 16.
// - return 1 / 16.0;
// + return 1;
// wrong: You returned the variance, 256 / 256². The standard deviation is its root.
// - return 1 / 16.0;
// + return 1 / 256.0;
// wrong: Your result is 0. In C++, 1 / 16 is 0 because both numbers are integers. Write 1 / 16.0.
// - return 1 / 16.0;
// + return 1 / 16;
// wrong: √d does not bring every variance to 1. It depends on the width only, not on the size of the numbers. Queries
//   that grow in training make the weights sharper.
// - return 4;  // each product has variance 4 · 1
// + return 1;
// wrong: You returned the standard deviation. The question asks for the variance.
// - return 4;  // each product has variance 4 · 1
// + return 2;
// wrong: You squared the variance. Var(q_i k_i) = E q_i² · E k_i², and E q_i² is already 4.
// - return 4;  // each product has variance 4 · 1
// + return 16;
// wrong: You doubled the standard deviation. That is right for q · k, but the divisor √d doubles as well.
// - return 1;  // that is what √d is for
// + return 2;
// wrong: You halved the standard deviation. q · k has the standard deviation √1024 = 32, and it is divided by 32.
// - return 1;  // that is what √d is for
// + return 0.5;
// wrong: You returned ‖J‖², 0.081 + 0.009: the root is missing.
// - return 0.3;
// + return 0.09;
// wrong: You used only the diagonal, the root of ten times 0.09². The ninety other entries are −0.01 each.
// - return 0.3;
// + return std::sqrt(0.081);
// wrong: ‖J‖ is not 0 for equal weights. Each score can still change its weight.
// - return 0.3;
// + return 0;
// wrong: You used the weight 1 as a derivative. α (1 − α) is 0 at α = 1. Such a softmax passes no gradient, even if the
//   weight is on the wrong key.
// - return 0;  // each product has a factor of 0
// + return 1;
// wrong: You returned ‖J‖ for equal weights. If one weight is nearly 1, the derivatives are nearly 0.
// - return 0;  // each product has a factor of 0
// + return 0.3;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns q · k for 600 queries and 600 keys, (600, 600).
Tensor dots(Judge& judge, Size d, double deviation_of_q) {
  const Tensor q = deviation_of_q * random_normal({600, d}, judge.random().next(), DType::f64);
  return matmul(q, transpose(random_normal({600, d}, judge.random().next(), DType::f64)));
}

/// Returns ‖J‖ at these scores, computed with the tape.
double size_of_jacobian(const Tensor& scores) {
  const Tensor j = jacobian([](const Tensor& x) { return softmax(x, -1); }, scores);
  return std::sqrt(sum(j * j).item());
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kChance = 0.05;
  const auto deviation = [](const Tensor& x) { return std::sqrt(var(x).item()); };
  judge.claim("predicts the size of q · k", [&] {
    judge.predicted(deviation_of_scores(), deviation(dots(judge, 256, 1)), "the standard deviation of q · k",
                    kChance);
  });
  judge.claim("predicts the result of a division by d", [&] {
    judge.predicted(deviation_divided_by_d(), deviation(dots(judge, 256, 1) / 256),
                    "the standard deviation of q · k / d", kChance / 16);
  });
  judge.claim("predicts the variance for larger queries", [&] {
    judge.predicted(variance_with_larger_queries(), var(dots(judge, 256, 2) / 16).item(),
                    "the variance of q · k / √d", kChance);
  });
  judge.claim("predicts the standard deviation for wider vectors", [&] {
    judge.predicted(deviation_with_d_quadrupled(), deviation(dots(judge, 1024, 1) / 32),
                    "the standard deviation of q · k / √d for d = 1024", kChance);
  });
  judge.claim("predicts ‖J‖ for equal weights", [&] {
    judge.predicted(norm_for_equal_weights(), size_of_jacobian(zeros({1, 10}, DType::f64)),
                    "‖J‖ of equal weights");
  });
  judge.claim("predicts ‖J‖ for a single weight of 1", [&] {
    const Tensor sure = 1000 * slice(eye(10, DType::f64), 0, 3, 4);
    judge.predicted(norm_for_one_hot_weights(), size_of_jacobian(sure), "‖J‖ of one weight of 1");
  });
}
