// 29.3 what_it_does: copied, covered, passed
// predict, 10 minutes
//
// Predict, to two decimals: P(Bo) where p_gen is 0.25, the vocabulary's chance of "Bo" is 0.4, and the source "Bo saw Cy
// saw Bo" has the weights (0.1, 0.2, 0.3, 0.2, 0.2); coverage's loss of the third query, if the weights so far are
// (0.6, 0.4, 0), (0.1, 0.5, 0.4), (0.2, 0.3, 0.5); the chance that a monotonic reader comes to the end with its first
// query, if there are four keys and all p = 0.2; the chance that its second query stops at key 2 of two keys, if the
// first had p = (0.5, 0.5) and the second has p = (0, 0.8); and how many scores it computes at most in use, for 100
// keys and 40 symbols: all symbols score the key they begin with, and the reader moves on 99 times at most.
#include "lessons/grader/answer.hpp"

double chance_of_bo() {
  //[ P(Bo)
  //: return not_written_yet();
  return 0.25 * 0.4 + 0.75 * (0.1 + 0.2);
  //]
}

double looked_at_again() {
  //[ of the third query
  //: return not_written_yet();
  return 0.2 + 0.3 + 0.4;  // the smaller ones of (0.2, 0.3, 0.5) and (0.7, 0.9, 0.4)
  //]
}

double comes_to_the_end() {
  //[ four keys, p = 0.2
  //: return not_written_yet();
  return 0.8 * 0.8 * 0.8 * 0.8;
  //]
}

double second_stop() {
  //[ at key 2 of two
  //: return not_written_yet();
  return 0.8 * (0.5 + 0.25);  // from key 1, which it passes, and from key 2, where it is: 0.25
  //]
}

double scores_at_most() {
  //[ 100 keys, 40 symbols
  //: return not_written_yet();
  return 100 + 40 - 1;  // each symbol scores the key where it stands; there are 99 steps to the next one
  //]
}

// hint: "Bo" is known and stands in the source twice: add what was written and what was copied.
// hint: Coverage of the third query is the sum of the first two rows. Take the smaller one at each key, then ____.
// hint: For the second stop: where can the reader stand before it, and with what chances? α₁ = (0.5, ____).
// hint: Each symbol begins with the key where the one before stopped, and never goes back: how many keys are scored once
//   more than the others?

// wrong: You counted one of the two places. Both are "Bo".
// - return 0.25 * 0.4 + 0.75 * (0.1 + 0.2);
// + return 0.25 * 0.4 + 0.75 * 0.1;
// wrong: p_gen is the share that is written, not the one that is copied.
// - return 0.25 * 0.4 + 0.75 * (0.1 + 0.2);
// + return 0.75 * 0.4 + 0.25 * (0.1 + 0.2);
// wrong: That is the part that was copied. "Bo" is in the vocabulary as well.
// - return 0.25 * 0.4 + 0.75 * (0.1 + 0.2);
// + return 0.75 * (0.1 + 0.2);
// wrong: Coverage is what all queries before have looked at, not the last one alone.
// - return 0.2 + 0.3 + 0.4;  // the smaller ones of (0.2, 0.3, 0.5) and (0.7, 0.9, 0.4)
// + return 0.1 + 0.3 + 0.4;
// wrong: You counted the query's own weights as seen before: then the smaller one is always its own.
// - return 0.2 + 0.3 + 0.4;  // the smaller ones of (0.2, 0.3, 0.5) and (0.7, 0.9, 0.4)
// + return 1;
// wrong: That is the chance that it stops somewhere. The end is the rest.
// - return 0.8 * 0.8 * 0.8 * 0.8;
// + return 1 - 0.8 * 0.8 * 0.8 * 0.8;
// wrong: Four keys are passed, so there are four factors.
// - return 0.8 * 0.8 * 0.8 * 0.8;
// + return 0.8 * 0.8 * 0.8;
// wrong: You forgot that it may stand at key 2 already, and stay.
// - return 0.8 * (0.5 + 0.25);  // from key 1, which it passes, and from key 2, where it is: 0.25
// + return 0.8 * 0.5;
// wrong: You let it come to key 2 for certain. It comes there from key 1, 0.5, or stands there, 0.25; in the other
//   quarter the first query went past the end.
// - return 0.8 * (0.5 + 0.25);  // from key 1, which it passes, and from key 2, where it is: 0.25
// + return 0.8 * (0.5 + 0.5);
// wrong: A softmax scores all pairs. This one begins where it stopped, and does not look behind the next stop.
// - return 100 + 40 - 1;  // each symbol scores the key where it stands; there are 99 steps to the next one
// + return 100 * 40;
// wrong: Each key is scored once as the reader goes along; but a symbol begins with the key where the one before stopped.
// - return 100 + 40 - 1;  // each symbol scores the key where it stands; there are 99 steps to the next one
// + return 100;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/attention/pointing/copy.hpp"
#include "nn/attention/pointing/coverage.hpp"
#include "nn/attention/pointing/monotonic.hpp"

void judge(Judge& judge) {
  const auto logit = [](double p) { return std::log(p / (1 - p)); };
  judge.claim("foretells a chance that is written and copied", [&] {
    const CopyScores scores{tensor({{{std::log(0.4), std::log(0.6)}}}, DType::f64),
                            tensor({{{0.1, 0.2, 0.3, 0.2, 0.2}}}, DType::f64),
                            tensor({{logit(0.25)}}, DType::f64)};
    const Indices source = Indices{0, 8, 9, 8, 0}.reshape({1, 5});
    judge.predicted(chance_of_bo(), copy_mixture(scores, source).at({0, 0, 0}), "P(Bo)");
  });
  judge.claim("foretells coverage's loss", [&] {
    const Tensor weights = tensor({{0.6, 0.4, 0}, {0.1, 0.5, 0.4}, {0.2, 0.3, 0.5}}, DType::f64);
    judge.predicted(looked_at_again(), coverage_loss(weights).at({2}), "the loss");
  });
  judge.claim("foretells who comes to the end", [&] {
    const Tensor weights = monotonic_weights(full({1, 4}, logit(0.2), DType::f64));
    judge.predicted(std::round(100 * comes_to_the_end()) / 100, 1 - sum(weights).item(), "the chance");
  });
  judge.claim("foretells a second stop", [&] {
    const Tensor weights = monotonic_weights(tensor({{0, 0}, {-80, logit(0.8)}}, DType::f64));
    judge.predicted(second_stop(), weights.at({1, 1}), "the chance");
  });
  judge.claim("foretells how often it scores", [&] {
    // Any stops that end with the last key: here one at the first key, the others at the last.
    Size scored = 0, stands = 0;
    for (Size t = 0; t < 40; ++t) {
      const Size stop = t == 0 ? 0 : 99;
      scored += stop - stands + 1;
      stands = stop;
    }
    judge.predicted(scores_at_most(), static_cast<double>(scored), "the scores");
  });
}
