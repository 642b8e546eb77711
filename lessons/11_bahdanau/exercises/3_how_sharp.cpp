// 11.3 how_sharp: what the weights can be, before you see them
// predict, 15 minutes
//
// Four questions about the additive score v · tanh(W q + U k_j) and the softmax of it. Predict the largest
// weight that one of four states can get if v = (1, −0.5), whatever W, U, the query and the keys are; how the
// ratio of two weights, 0.6 and 0.2, changes if v is doubled; the weight of a state that is the only one,
// with score 2; and for how many of the numbers in W (5, 3), U (5, 4) and v (5) the gradient is not 0 if
// there is only one state. Formulas with std::exp are welcome.
#include "lessons/grader/answer.hpp"

double largest_weight() {
  //[ of four states, with v = (1, −0.5)
  //: return not_written_yet();
  return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));  // tanh is at most 1: scores from −1.5 to 1.5
  //]
}

double ratio_with_doubled_v() {
  //[ of the two weights that were 0.6 and 0.2
  //: return not_written_yet();
  return 9;  // the scores' difference doubles, e^{2 (a − b)}: the ratio 3 is squared
  //]
}

double weight_of_the_only_state() {
  //[ its score is 2
  //: return not_written_yet();
  return 1;  // e² / e²
  //]
}

double numbers_with_gradient() {
  //[ of W, U and v, 40 in all, with one state to look at
  //: return not_written_yet();
  return 0;  // the weight is 1 whatever the score, so nothing that makes the score matters
  //]
}

// hint: Between which two numbers is a tanh? Then between which two is v · tanh(…), if every tanh may be
//   chosen?
// hint: One state has the largest score that there is, the three others the smallest: e^m / (e^m + 3 e^__).
// hint: Two weights of one softmax have the ratio e^{a − b}. What is e^{2a − 2b}, if e^{a − b} is 3?
// hint: With one state the softmax has one score. Which scores give it another weight?
//
// wrong: A weight comes near 1 only if its score is far above the others. These scores cannot: each tanh is
//   between −1 and 1, and v is fixed.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return 1;
// wrong: You let the three others have the score 0. They can be lower: the smallest score is as far below 0
//   as the largest is above.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(1.5) / (std::exp(1.5) + 3);
// wrong: You added up the numbers of v: 0.5. Where v is negative the score is largest with tanh = −1, so it
//   is the magnitudes that add up.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(0.5) / (std::exp(0.5) + 3 * std::exp(-0.5));
// wrong: You counted one other state. There are four, and the three others all have their share.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return std::exp(1.5) / (std::exp(1.5) + std::exp(-1.5));
// wrong: A weight of one in four comes out if all scores are equal. Asked is how far one can get ahead.
// - return std::exp(1.5) / (std::exp(1.5) + 3 * std::exp(-1.5));
// + return 0.25;
// wrong: That is the ratio as it was. A softmax keeps its weights if a number is *added* to all scores; v
//   multiplies them.
// - return 9;  // the scores' difference doubles, e^{2 (a − b)}: the ratio 3 is squared
// + return 3;
// wrong: You doubled the ratio. Scores are exponents: a difference that doubles does more than that.
// - return 9;  // the scores' difference doubles, e^{2 (a − b)}: the ratio 3 is squared
// + return 6;
// wrong: That is the sigmoid of the score, a weight against something of score 0. Here there is nothing else,
//   and weights sum to 1.
// - return 1;  // e² / e²
// + return 1 / (1 + std::exp(-2.0));
// wrong: e² is what the state puts into the softmax. It is still divided by the sum of all, which is e² too.
// - return 1;  // e² / e²
// + return std::exp(2.0);
// wrong: A gradient says how much the result changes with a number. Change any of the 40: the score changes,
//   but what becomes of the only weight?
// - return 0;  // the weight is 1 whatever the score, so nothing that makes the score matters
// + return 40;
// wrong: You left v a gradient. v makes nothing but the score, as W and U do, and the score makes no
//   difference to the only weight.
// - return 0;  // the weight is 1 whatever the score, so nothing that makes the score matters
// + return 5;
// wrong: You left out W alone. It is right that the query has no say, but neither has the key: what makes the
//   score is all in vain if there is one state.
// - return 0;  // the weight is 1 whatever the score, so nothing that makes the score matters
// + return 25;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The largest weight of the first of four states among all corners that two tanh can reach, in each state.
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
  judge.claim("foretells how large a weight can get",
              [&] { judge.predicted(largest_weight(), largest_of_corners(), "the largest weight"); });
  judge.claim("foretells what a larger v does", [&] {
    const Tensor scores = log(tensor({0.6, 0.2, 0.2}, DType::f64));
    const Tensor weights = softmax(scores * 2, -1);
    judge.predicted(ratio_with_doubled_v(), weights.at({0}) / weights.at({1}), "the new ratio");
  });
  Attention attention{{}, additive(3, 4, 5)};
  attention.initialise(1, DType::f64);
  const Tensor query = judge.normal({1, 1, 3}), state = judge.normal({1, 1, 4});
  judge.claim("foretells the weight of the only state", [&] {
    judge.predicted(weight_of_the_only_state(), attention(query, state, state).weights.at({0, 0, 0}),
                    "the weight");
  });
  judge.claim("foretells what the score learns from it", [&] {
    Tape tape;
    const std::vector<Tensor> weights = attention.parameters();
    const Tensor context = attention(query, state, state).context;
    double count = 0;
    for (const Tensor& gradient : tape.gradients(context, ones(context.shape(), DType::f64), weights))
      for (const double x : gradient.to_vector()) count += x != 0 ? 1 : 0;
    judge.predicted(numbers_with_gradient(), count, "the numbers with a gradient");
  });
}
