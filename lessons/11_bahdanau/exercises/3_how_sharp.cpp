// 11.3 how_sharp: Limits of the additive score
// predict, 15 minutes
//
// Answer four questions about the additive score v · tanh(W q + U k_j) and its softmax. You may write formulas with
// std::exp. Predict
//
// - the largest weight that one of four states can get if v = (1, −0.5), for any W, U, query and keys;
// - the ratio of two weights, now 0.6 and 0.2, after v is doubled;
// - the weight of a state with score 2 if it is the only state;
// - how many of the numbers in W (5, 3), U (5, 4) and v (5) have a gradient other than 0 if there is only one state.
#include "lessons/grader/answer.hpp"

double largest_weight() {
  //[ the largest weight of four states, with v = (1, −0.5)
  //: return not_written_yet();
  return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));  // |tanh| < 1: scores from −1.5 to 1.5
  //]
}

double ratio_with_doubled_v() {
  //[ the ratio of the two weights that were 0.6 and 0.2
  //: return not_written_yet();
  return 9;  // the difference of the scores doubles, e^{2 (a − b)}: the ratio 3 is squared
  //]
}

double weight_of_the_only_state() {
  //[ the weight of the only state, whose score is 2
  //: return not_written_yet();
  return 1;  // e² / e²
  //]
}

double numbers_with_gradient() {
  //[ of the 40 numbers in W, U and v, with one state
  //: return not_written_yet();
  return 0;  // the weight is 1 for any score, so W, U and v have no effect
  //]
}

// hint: Between which two numbers is a tanh? If you could choose every tanh, between which two numbers would
//   v · tanh(…) be?
// hint: Give one state the largest possible score m and the three others the smallest: e^m / (e^m + 3 e^__).
// hint: Two weights with the scores a and b have the ratio e^{a − b}. If e^{a − b} is 3, what is e^{2a − 2b}?
// hint: With one state, the softmax has a single score. Can any score give another weight?
//
// wrong: A weight gets close to 1 only if its score is far above the others. That is impossible here: each tanh is
//   between −1 and 1, and v is fixed.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return 1;
// wrong: You give the three other states the score 0. Their scores can be lower: the smallest score is as far below
//   0 as the largest is above.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(1.5) / (std::exp(1.5) + 3);
// wrong: You added up the numbers of v, which gives 0.5. Where v is negative, tanh = −1 makes the score largest. So add
//   up the absolute values.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(0.5) / (std::exp(0.5) + 3 * std::exp(-0.5));
// wrong: You counted one other state. There are four states, so three others are part of the sum.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(1.5) / (std::exp(1.5) + std::exp(-1.5));
// wrong: 0.25 is the weight if all scores are equal. Find the largest weight that one state can get.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return 0.25;
// wrong: That is the old ratio. A softmax doesn't change if the same number is *added* to all scores, but doubling v
//   multiplies them by 2.
// - return 9;
// + return 3;
// wrong: You doubled the ratio. Scores are exponents, so doubling their difference does more than that.
// - return 9;
// + return 6;
// wrong: That is the sigmoid of the score, the weight against a second state with score 0. Here there is no second
//   state, and weights sum to 1.
// - return 1;
// + return 1 / (1 + std::exp(-2.0));
// wrong: e² is the numerator of the softmax. It is divided by the sum over all states, which is also e².
// - return 1;
// + return std::exp(2.0);
// wrong: A gradient says how much the result changes when a number changes. If you change any of the 40 numbers, the
//   score changes. But does the only weight change?
// - return 0;
// + return 40;
// wrong: You give v a gradient. Like W and U, v affects only the score, and the score has no effect on the only
//   weight.
// - return 0;
// + return 5;
// wrong: You left out W alone. You are right that the query has no effect, but neither has the key. With one state, the
//   score has no effect, whatever it is made from.
// - return 0;
// + return 25;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the largest weight of the first of four states, over all 256 combinations in which each state's two tanh are
/// 1 or −1.
double largest_of_corners() {
  const Tensor v = tensor({1, -0.5}, DType::f64);
  double largest = 0;
  for (int corner = 0; corner < 256; ++corner) {
    std::vector<double> pushes;
    for (int bit = 0; bit < 8; ++bit) pushes.push_back((corner >> bit & 1) != 0 ? 30 : -30);
    const Tensor scores = sum(tanh(tensor(pushes, {4, 2}, DType::f64)) * v, {-1});
    largest = std::max(largest, softmax(scores, -1).at({0}));
  }
  return largest;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("predicts the largest weight",
              [&] { judge.predicted(largest_weight(), largest_of_corners(), "the largest weight"); });
  judge.claim("predicts the effect of doubling v", [&] {
    const Tensor scores = log(tensor({0.6, 0.2, 0.2}, DType::f64));
    const Tensor weights = softmax(scores * 2, -1);
    judge.predicted(ratio_with_doubled_v(), weights.at({0}) / weights.at({1}), "the new ratio");
  });
  Attention attention{{}, additive(3, 4, 5)};
  attention.initialise(1, DType::f64);
  const Tensor query = judge.normal({1, 1, 3}), state = judge.normal({1, 1, 4});
  judge.claim("predicts the weight of the only state", [&] {
    judge.predicted(weight_of_the_only_state(), attention(query, state, state).weights.at({0, 0, 0}),
                    "the weight");
  });
  judge.claim("predicts how many numbers have a gradient", [&] {
    Tape tape;
    const std::vector<Tensor> weights = attention.parameters();
    const Tensor context = attention(query, state, state).context;
    double count = 0;
    for (const Tensor& gradient : tape.gradients(context, ones(context.shape(), DType::f64), weights))
      for (const double x : gradient.to_vector()) count += x != 0 ? 1 : 0;
    judge.predicted(numbers_with_gradient(), count, "how many numbers have a gradient");
  });
}
