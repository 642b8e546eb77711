// 8.3 how_large: sizes of scores and of what a softmax lets through
// predict, 10 minutes
//
// The numbers of q and k are independent with mean 0 and, where nothing else is said, variance 1; d = 256.
// Predict how large scores become; a deviation is the root of a variance. Then, for weights over ten keys,
// ‖J‖ of the softmax: the root of the sum of the squares of all α_i (δ_ij − α_j).
//
// The judge draws 600 queries and 600 keys and allows 5 % for chance. ‖J‖ it takes from the tape.
#include "lessons/grader/answer.hpp"

double deviation_of_dot() {
  //[ the deviation of q · k
  //: return not_written_yet();
  return 16;  // 256 products of variance 1: √256
  //]
}

double deviation_divided_by_d() {
  //[ the deviation of q · k / d, divided by d and not by its root
  //: return not_written_yet();
  return 1 / 16.0;  // 16 / 256: the wider, the smaller, until all keys get equal weights
  //]
}

double variance_with_larger_queries() {
  //[ the variance of q · k / √d if the numbers of q have variance 4, those of k still 1
  //: return not_written_yet();
  return 4;  // each product has variance 4 · 1
  //]
}

double deviation_with_d_quadrupled() {
  //[ the deviation of q · k / √d for d = 1024
  //: return not_written_yet();
  return 1;  // that is what √d is for
  //]
}

double size_if_all_are_equal() {
  //[ ‖J‖ if all ten weights are 1/10
  //: return not_written_yet();
  return 0.3;  // ten times (0.1 · 0.9)², ninety times (0.1 · 0.1)²: 0.081 + 0.009 = 0.09
  //]
}

double size_if_one_has_all() {
  //[ ‖J‖ if one weight is 1 and nine are 0
  //: return not_written_yet();
  return 0;  // each product has a factor of 0
  //]
}

// hint: Variances of independent products add up. What is the variance of one product q_i k_i?
// hint: Divided by c, a deviation is divided by c, and a variance by ____.
// hint: J has ten entries α_i (1 − α_i) on its diagonal, and ninety −α_i α_j beside it.
//
// wrong: That is the variance, d. The deviation is its root.
// - return 16;  // 256 products of variance 1: √256
// + return 256;
// wrong: That is what a score has after the division by √d. Here nothing was divided.
// - return 16;  // 256 products of variance 1: √256
// + return 1;
// wrong: That is what a division by √d leaves. d is 256, and the deviation of q · k is only 16.
// - return 1 / 16.0;
// + return 1;
// wrong: That is the variance, 256 / 256². The deviation is its root.
// - return 1 / 16.0;
// + return 1 / 256.0;
// wrong: That is 0. In C++ so is 1 / 16, since both are integers: write 1 / 16.0.
// - return 1 / 16.0;
// + return 1 / 16;
// wrong: You let √d bring any variance to 1. It knows the width, and not how large the numbers are: queries
//   that grow in training make sharper weights.
// - return 4;  // each product has variance 4 · 1
// + return 1;
// wrong: That is the deviation. The variance was asked for.
// - return 4;  // each product has variance 4 · 1
// + return 2;
// wrong: You squared the variance. Var(q_i k_i) = E q_i² · E k_i², and E q_i² is 4 already.
// - return 4;  // each product has variance 4 · 1
// + return 16;
// wrong: You let the deviation double with the root of d. That is q · k; the divisor doubles as well.
// - return 1;  // that is what √d is for
// + return 2;
// wrong: You halved it. q · k has the deviation √1024 = 32, and it is divided by 32.
// - return 1;  // that is what √d is for
// + return 0.5;
// wrong: That is ‖J‖², 0.081 + 0.009: the root is missing.
// - return 0.3;
// + return 0.09;
// wrong: You took the diagonal alone: ten times 0.09², and its root. The ninety other entries are −0.01 each.
// - return 0.3;
// + return std::sqrt(0.081);
// wrong: Equal weights are where a softmax listens best: each score can still move its weight.
// - return 0.3;
// + return 0;
// wrong: You took a weight of 1 for a derivative of 1. α (1 − α) is 0 at α = 1: a softmax that is sure hears
//   nothing any more, and if it is sure of the wrong key it stays there.
// - return 0;  // each product has a factor of 0
// + return 1;
// wrong: That is ‖J‖ for equal weights. The surer the softmax, the smaller its derivative.
// - return 0;  // each product has a factor of 0
// + return 0.3;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// q · k of 600 queries and 600 keys, (600, 600).
Tensor dots(Judge& judge, Size d, double deviation_of_q) {
  const Tensor q = deviation_of_q * random_normal({600, d}, judge.random().next(), DType::f64);
  return matmul(q, transpose(random_normal({600, d}, judge.random().next(), DType::f64)));
}

/// ‖J‖ at these scores, from the tape.
double size_of_jacobian(const Tensor& scores) {
  const Tensor j = jacobian([](const Tensor& x) { return softmax(x, -1); }, scores);
  return std::sqrt(sum(j * j).item());
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kChance = 0.05;
  const auto deviation = [](const Tensor& x) { return std::sqrt(var(x).item()); };
  judge.claim("foretells how large q · k is", [&] {
    judge.predicted(deviation_of_dot(), deviation(dots(judge, 256, 1)), "the deviation of q · k", kChance);
  });
  judge.claim("foretells what a division by d leaves", [&] {
    judge.predicted(deviation_divided_by_d(), deviation(dots(judge, 256, 1) / 256),
                    "the deviation of q · k / d", kChance / 16);
  });
  judge.claim("foretells the variance for larger queries", [&] {
    judge.predicted(variance_with_larger_queries(), var(dots(judge, 256, 2) / 16).item(),
                    "the variance of q · k / √d", kChance);
  });
  judge.claim("foretells the deviation for wider vectors", [&] {
    judge.predicted(deviation_with_d_quadrupled(), deviation(dots(judge, 1024, 1) / 32),
                    "the deviation of q · k / √d for d = 1024", kChance);
  });
  judge.claim("foretells what equal weights let through", [&] {
    judge.predicted(size_if_all_are_equal(), size_of_jacobian(zeros({1, 10}, DType::f64)),
                    "‖J‖ of equal weights");
  });
  judge.claim("foretells what a sure softmax lets through", [&] {
    const Tensor sure = 1000 * slice(eye(10, DType::f64), 0, 3, 4);
    judge.predicted(size_if_one_has_all(), size_of_jacobian(sure), "‖J‖ of one weight of 1");
  });
}
