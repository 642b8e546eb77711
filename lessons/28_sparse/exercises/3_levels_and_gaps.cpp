// 28.3 levels_and_gaps: what a level does
// predict, 10 minutes
//
// Predict, to two decimals: the largest weight that sparsemax makes of the scores (2, 1.4, 1.4, 0); how many
// keys have weight if these scores are all ten times as large; by what gap five keys of equal score must stand
// above all others, so that sparsemax gives them all the weight; the gradient of the second score if
// sparsemax's weights are (0.5, 0.3, 0.2, 0, 0) and the loss's derivatives by them (0, 1, 0, 0, 5); and the
// mass that softmax leaves to two keys among 402, all others equal, if among 42 it was 0.8 at the same scores.
#include "lessons/grader/answer.hpp"

double largest_weight() {
  //[ sparsemax of (2, 1.4, 1.4, 0)
  //: return not_written_yet();
  return 2 - 3.8 / 3;  // τ = (2 + 1.4 + 1.4 − 1) / 3 = 1.267: both 1.4 stand above (2 + 1.4 − 1) / 2 = 1.2
  //]
}

double keys_with_weight() {
  //[ of (20, 14, 14, 0)
  //: return not_written_yet();
  return 1;  // τ = 20 − 1 = 19, and 14 lies below it
  //]
}

double gap_of_five() {
  //[ so that all others are drowned
  //: return not_written_yet();
  return 0.2;  // five weights of 1/5: the level lies 1/5 below their score
  //]
}

double gradient_of_the_second() {
  //[ w = (0.5, 0.3, 0.2, 0, 0), g = (0, 1, 0, 0, 5)
  //: return not_written_yet();
  return 1 - 1.0 / 3;  // less the mean of g over the support, three keys; the 5 is of a drowned one
  //]
}

double mass_among_many() {
  //[ two keys among 402, if among 42 it was 0.8
  //: return not_written_yet();
  return 1 / (1 + 0.25 * 10);  // 400 others in place of 40: the odds 0.2 / 0.8 become ten times as large
  //]
}

// hint: Let keys in from the largest on. Does 1.4 stand above the level of {2}? And of {2, 1.4}?
// hint: Sparsemax's gradient is g less its mean over ____. Equal weights of k keys are 1/k, and the level lies
//   ____ below their score.
// hint: Softmax's odds are (mass of the others) / (mass of the two). How many others were there, and how many
//   are there now?

// wrong: You stopped after two keys. The level of {2, 1.4} is 1.2, and the second 1.4 stands above it.
// - return 2 - 3.8 / 3;
// + return 0.8;
// wrong: You let all four in. 0 lies below the level.
// - return 2 - 3.8 / 3;
// + return 1.05;
// wrong: Sparsemax subtracts a level, it does not divide: 2 / 4.8 are shares.
// - return 2 - 3.8 / 3;
// + return 2 / 4.8;
// wrong: The gaps are ten times as large too. The level of {20} is 19: does 14 stand above it?
// - return 1;  // τ = 20 − 1 = 19, and 14 lies below it
// + return 3;
// wrong: From {20} the level is 19, not lower: only what stands above comes in.
// - return 1;  // τ = 20 − 1 = 19, and 14 lies below it
// + return 2;
// wrong: That is the gap for three keys. Five share the weight, so the level lies 1/5 below them.
// - return 0.2;  // five weights of 1/5: the level lies 1/5 below their score
// + return 1.0 / 3;
// wrong: That is the gap for one key alone. Five of equal score raise the level.
// - return 0.2;  // five weights of 1/5: the level lies 1/5 below their score
// + return 1;
// wrong: That is the gap of entmax-1.5: 2 √(1/5).
// - return 0.2;  // five weights of 1/5: the level lies 1/5 below their score
// + return 2 * std::sqrt(0.2);
// wrong: You took the mean over all five keys. A drowned key's derivative does not count, however large it is.
// - return 1 - 1.0 / 3;
// + return 1 - 6.0 / 5;
// wrong: You weighted the mean by w, as softmax's rule does, and its result by w as well. Sparsemax's r is 1 on
//   the support.
// - return 1 - 1.0 / 3;
// + return 0.3 * (1 - 0.3);
// wrong: The level moves too: what the second gains the others lose, a third of it the second itself.
// - return 1 - 1.0 / 3;
// + return 1;
// wrong: The weights do not stay: softmax divides by a sum that has 400 terms more.
// - return 1 / (1 + 0.25 * 10);
// + return 0.8;
// wrong: The odds grow ten times, from 0.25 to 2.5; the mass itself does not fall to a tenth.
// - return 1 / (1 + 0.25 * 10);
// + return 0.08;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  const Tensor scores = tensor({{2, 1.4, 1.4, 0}}, DType::f64);
  judge.claim("foretells the largest weight", [&] {
    judge.predicted(std::round(100 * largest_weight()) / 100, max(sparsemax(scores)).item(),
                    "the largest weight");
  });
  judge.claim("foretells the support of larger scores", [&] {
    double count = 0;
    for (const double weight : sparsemax(10 * scores).to_vector()) count += weight > 0 ? 1 : 0;
    judge.predicted(keys_with_weight(), count, "the keys with weight");
  });
  judge.claim("foretells the gap that drowns the others", [&] {
    const auto drowned = [](double gap) {
      return sparsemax(tensor({{gap, gap, gap, gap, gap, 0, 0}}, DType::f64)).at({0, 5}) == 0;
    };
    double low = 0, high = 10;
    for (int step = 0; step < 50; ++step) (drowned((low + high) / 2) ? high : low) = (low + high) / 2;
    judge.predicted(std::round(100 * gap_of_five()) / 100, high, "the gap");
  });
  judge.claim("foretells a gradient", [&] {
    const Tensor s = variable(tensor({{0.5, 0.3, 0.2, -1, -1}}, DType::f64));
    Tape tape;
    tape.backward(sum(sparsemax(s) * tensor({{0, 1, 0, 0, 5}}, DType::f64)));
    judge.predicted(gradient_of_the_second(), s.grad().at({0, 1}), "the gradient");
  });
  judge.claim("foretells what more keys cost softmax", [&] {
    std::vector<double> all(402, 0.0);
    all[0] = all[1] = std::log(0.8 / 2) - std::log(0.2 / 40);
    judge.predicted(mass_among_many(), 2 * softmax(tensor(all, {402}, DType::f64), -1).at({0}), "the mass");
  });
}
