// 11.3 how_sharp: Limits of the additive score
// predict, 15 minutes
//
// Answer four questions about the additive score, score_j = v · tanh(W_q s + W_k h_j), and the weights, which are the
// softmax of the scores. Here s is the query and h_j are the encoder states. You may write formulas with std::exp.
//
// - Let v = (1, −0.5), and choose W_q, W_k, s and four states h_j freely. Which number can the weight of one of the
//   four states approach, but never exceed? (tanh approaches ±1.)
// - Two of the weights are 0.6 and 0.2. What is their ratio, the first divided by the second, after v is doubled?
// - There is only one state, and its score is 2. What is its weight?
// - W_q (5, 3), W_k (5, 4) and v (5) have 40 numbers together. We compute the derivative of the context with respect
//   to each of them. How many of the 40 derivatives are not 0 if there is only one state?
#include "lessons/grader/answer.hpp"

double largest_weight() {
  //[ the least upper bound of a weight of four states, with v = (1, −0.5)
  //: return not_written_yet();
  return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));  // |tanh| < 1, so |score| < 1.5
  //]
}

double ratio_with_doubled_v() {
  //[ the ratio of the two weights that were 0.6 and 0.2
  //: return not_written_yet();
  return 9;  // the scores a and b double: e^{2 (a − b)} is the square of e^{a − b} = 3
  //]
}

double weight_of_the_only_state() {
  //[ the weight of the only state, whose score is 2
  //: return not_written_yet();
  return 1;  // e² / e²
  //]
}

double numbers_with_gradient() {
  //[ of the 40 numbers in W_q, W_k and v, with one state
  //: return not_written_yet();
  return 0;  // the weight is 1 for any score, so W_q, W_k and v have no effect
  //]
}

// hint: Between which two numbers does tanh lie? If you could choose each tanh freely, between which two numbers
//   would v · tanh(…) lie?
// hint: Let one state have the largest possible score m and the three others the smallest possible score. The weight of
//   the first state is then e^m / (e^m + 3 e^__).
// hint: Two weights with the scores a and b have the ratio e^{a − b}. If e^{a − b} is 3, what is e^{2a − 2b}?
// hint: With one state, the softmax has a single score. Does its result depend on this score?
//
// wrong: A weight gets close to 1 only if the score is far above the other scores. Such a difference is impossible
//   here, because each tanh is between −1 and 1, and v is fixed.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return 1;
// wrong: You used the score 0 for the three other states. Their scores can be lower. If the largest possible score is
//   m, the smallest is −m.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(1.5) / (std::exp(1.5) + 3);
// wrong: You added up the numbers of v and got 0.5. For the negative number in v, a tanh of −1 makes the score largest.
//   So add up the absolute values.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(0.5) / (std::exp(0.5) + 3 * std::exp(-0.5));
// wrong: Your denominator contains only one other state. There are four states, so it must contain three others.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(1.5) / (std::exp(1.5) + std::exp(-1.5));
// wrong: 0.25 is the weight if all scores are equal. Find the largest number that the weight of one state can
//   approach.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return 0.25;
// wrong: 3 is the old ratio. A softmax doesn't change if the same number is *added* to all scores, but doubling v
//   *multiplies* all scores by 2.
// - return 9;
// + return 3;
// wrong: You doubled the ratio. Doubling v doubles the difference of two scores. Scores are exponents, so this
//   squares the ratio of the weights.
// - return 9;
// + return 6;
// wrong: You computed the sigmoid of the score, which is the weight if there is a second state with score 0. Here there
//   is no second state, and weights sum to 1.
// - return 1;
// + return 1 / (1 + std::exp(-2.0));
// wrong: e² is the numerator of the softmax. Divide by the sum over all states, which is also e².
// - return 1;
// + return std::exp(2.0);
// wrong: A derivative says how fast the context changes with a number. If you change any of the 40 numbers, the
//   score changes. But does the single attention weight change?
// - return 0;
// + return 40;
// wrong: You counted the 5 numbers of v. Like W_q and W_k, v affects only the score, and the score has no effect on
//   the single attention weight.
// - return 0;
// + return 5;
// wrong: You left out only W_q. The query has no effect, but neither do the key and v. With one state, the score has no
//   effect on the weight.
// - return 0;
// + return 25;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the largest weight of the first of four states, over all 256 combinations in which the two tanh of each
/// state are 1 or −1.
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
  judge.claim("predicts the number of derivatives that are not 0", [&] {
    Tape tape;
    const std::vector<Tensor> weights = attention.parameters();
    const Tensor context = attention(query, state, state).context;
    double count = 0;
    for (const Tensor& gradient : tape.gradients(context, ones(context.shape(), DType::f64), weights))
      for (const double x : gradient.to_vector()) count += x != 0 ? 1 : 0;
    judge.predicted(numbers_with_gradient(), count, "the number of derivatives that are not 0");
  });
}
