// 28.3 levels_and_gaps: Thresholds, gaps and odds
// predict, 10 minutes
//
// Predict five numbers, to two decimals:
//
// 1. the largest weight that sparsemax gives for the scores (2, 1.4, 1.4, 0);
// 2. the number of keys with weight if these scores are all ten times as large;
// 3. the smallest gap between five keys of equal score and all other keys with which sparsemax gives all the weight
//   to the five;
// 4. the gradient of the second score if sparsemax's weights are (0.5, 0.3, 0.2, 0, 0) and the derivatives of the
//   loss with respect to the weights are (0, 1, 0, 0, 5);
// 5. the mass (the sum of the weights) of two keys with softmax, among 400 other keys with equal scores. Among 40
//   others with the same scores, their mass was 0.8.
#include "lessons/grader/answer.hpp"

double largest_weight() {
  //[ sparsemax of (2, 1.4, 1.4, 0)
  //: return not_written_yet();
  return 2 - 3.8 / 3;  // τ = (2 + 1.4 + 1.4 − 1) / 3 = 1.267: both 1.4 are above (2 + 1.4 − 1) / 2 = 1.2
  //]
}

double keys_with_weight() {
  //[ of (20, 14, 14, 0)
  //: return not_written_yet();
  return 1;  // τ = 20 − 1 = 19, and 14 lies below it
  //]
}

double gap_of_five() {
  //[ so that all others get the weight 0
  //: return not_written_yet();
  return 0.2;  // five weights of 1/5: the threshold is 1/5 below their score
  //]
}

double gradient_of_the_second() {
  //[ w = (0.5, 0.3, 0.2, 0, 0), g = (0, 1, 0, 0, 5)
  //: return not_written_yet();
  // Minus the mean of g over the three keys of the support. The 5 is for a key outside it.
  return 1 - 1.0 / 3;
  //]
}

double mass_among_many() {
  //[ two keys among 402, if among 42 it was 0.8
  //: return not_written_yet();
  return 1 / (1 + 0.25 * 10);  // 400 others in place of 40: the odds 0.2 / 0.8 become ten times as large
  //]
}

// hint: Add keys to the support, from the largest score on. Is 1.4 above the threshold of {2}? And is the second 1.4
//   above the threshold of {2, 1.4}?
// hint: On the support, sparsemax's gradient is g minus the mean of g over ____. Equal weights of k keys are 1/k, and
//   the threshold is ____ below their score.
// hint: Softmax's odds are (mass of the others) / (mass of the two). How many others were there, and how many are
//   there now?

// wrong: You stopped after two keys. The threshold of {2, 1.4} is 1.2, and the second 1.4 is above it.
// - return 2 - 3.8 / 3;
// + return 0.8;
// wrong: You put all four keys into the support. But the score 0 is below the threshold.
// - return 2 - 3.8 / 3;
// + return 1.05;
// wrong: You divided by the sum: 2 / 4.8. Sparsemax subtracts a threshold; it does not divide.
// - return 2 - 3.8 / 3;
// + return 2 / 4.8;
// wrong: The gaps are ten times as large too. The threshold of {20} is 19. Is 14 above it?
// - return 1;  // τ = 20 − 1 = 19, and 14 lies below it
// + return 3;
// wrong: The threshold of {20} is 19, and only a key with a score above 19 would enter the support.
// - return 1;  // τ = 20 − 1 = 19, and 14 lies below it
// + return 2;
// wrong: That is the gap for three keys. Here five keys share the weight, so the threshold is 1/5 below their score.
// - return 0.2;  // five weights of 1/5: the threshold is 1/5 below their score
// + return 1.0 / 3;
// wrong: That is the gap for a single key. With five keys of equal score, the threshold is nearer to their score.
// - return 0.2;  // five weights of 1/5: the threshold is 1/5 below their score
// + return 1;
// wrong: That is the gap for entmax-1.5: 2 √(1/5).
// - return 0.2;  // five weights of 1/5: the threshold is 1/5 below their score
// + return 2 * std::sqrt(0.2);
// wrong: You took the mean over all five keys. The derivative for a key outside the support does not count, however
//   large it is.
// - return 1 - 1.0 / 3;
// + return 1 - 6.0 / 5;
// wrong: You used softmax's rule, which weights with w. Sparsemax's r is 1 on the support.
// - return 1 - 1.0 / 3;
// + return 0.3 * (1 - 0.3);
// wrong: The threshold changes too. It rises by a third of the change of the score, so the weight of the second key
//   rises by only two thirds.
// - return 1 - 1.0 / 3;
// + return 1;
// wrong: The weights do not stay the same: softmax divides by a sum that now has 360 more terms.
// - return 1 / (1 + 0.25 * 10);
// + return 0.8;
// wrong: The odds become ten times as large, 2.5 instead of 0.25. The mass itself does not fall to a tenth.
// - return 1 / (1 + 0.25 * 10);
// + return 0.08;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  const Tensor scores = tensor({{2, 1.4, 1.4, 0}}, DType::f64);
  judge.claim("predicts the largest weight", [&] {
    judge.predicted(std::round(100 * largest_weight()) / 100, max(sparsemax(scores)).item(),
                    "the largest weight");
  });
  judge.claim("predicts the support for larger scores", [&] {
    double count = 0;
    for (const double weight : sparsemax(10 * scores).to_vector()) count += weight > 0 ? 1 : 0;
    judge.predicted(keys_with_weight(), count, "the keys with weight");
  });
  judge.claim("predicts the gap", [&] {
    const auto is_zero = [](double gap) {
      return sparsemax(tensor({{gap, gap, gap, gap, gap, 0, 0}}, DType::f64)).at({0, 5}) == 0;
    };
    double low = 0, high = 10;
    for (int step = 0; step < 50; ++step) (is_zero((low + high) / 2) ? high : low) = (low + high) / 2;
    judge.predicted(std::round(100 * gap_of_five()) / 100, high, "the gap");
  });
  judge.claim("predicts a gradient", [&] {
    const Tensor s = variable(tensor({{0.5, 0.3, 0.2, -1, -1}}, DType::f64));
    Tape tape;
    tape.backward(sum(sparsemax(s) * tensor({{0, 1, 0, 0, 5}}, DType::f64)));
    judge.predicted(gradient_of_the_second(), s.grad().at({0, 1}), "the gradient");
  });
  judge.claim("predicts softmax's mass among more keys", [&] {
    std::vector<double> all(402, 0.0);
    all[0] = all[1] = std::log(0.8 / 2) - std::log(0.2 / 40);
    judge.predicted(mass_among_many(), 2 * softmax(tensor(all, {402}, DType::f64), -1).at({0}), "the mass");
  });
}
