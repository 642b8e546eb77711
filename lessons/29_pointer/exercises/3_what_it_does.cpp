// 29.3 what_it_does: Copy, coverage and monotonic attention by hand
// predict, 10 minutes
//
// Predict five numbers, to two decimals:
//
// 1. P(Bo), if p_gen is 0.25, the vocabulary's probability of "Bo" is 0.4, and the source "Bo saw Cy saw Bo" has the
//   weights (0.1, 0.2, 0.3, 0.2, 0.2);
// 2. the coverage loss of the third query, Σ_j min(α_3j, c_3j), if the three queries have the weights (0.6, 0.4, 0),
//   (0.1, 0.5, 0.4) and (0.2, 0.3, 0.5);
// 3. the probability that the first query of monotonic attention reaches the end without a stop, with four keys and
//   all p = 0.2;
// 4. the probability that the second query stops at key 2 of two keys, if the first query had p = (0.5, 0.5) and the
//   second has p = (0, 0.8);
// 5. the largest number of scores that monotonic attention with hard decisions computes for 100 keys and 40 output
//   symbols. For the first symbol it starts at the first key, and for each other symbol at the previous stop. It
//   scores every key from there to the next stop.
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
  return 100 + 40 - 1;  // 100 keys once, and the previous stop again for 39 symbols
  //]
}

// hint: "Bo" is known, and it is in the source twice. Add the written part and the copied part.
// hint: The coverage of the third query is the sum of the first two rows. Take the smaller number at each key, then
//   ____.
// hint: For the second stop: where can the first query have stopped, and with what probabilities? α₁ = (0.5, ____).
// hint: Each symbol after the first scores the key of the previous stop again. All other keys are scored once. How
//   many scores are that?

// wrong: You counted one position. "Bo" is at two positions.
// - return 0.25 * 0.4 + 0.75 * (0.1 + 0.2);
// + return 0.25 * 0.4 + 0.75 * 0.1;
// wrong: You exchanged the two parts. p_gen is the weight of the vocabulary, and 1 − p_gen is the weight of the copy.
// - return 0.25 * 0.4 + 0.75 * (0.1 + 0.2);
// + return 0.75 * 0.4 + 0.25 * (0.1 + 0.2);
// wrong: That is the copied part alone. "Bo" is in the vocabulary as well.
// - return 0.25 * 0.4 + 0.75 * (0.1 + 0.2);
// + return 0.75 * (0.1 + 0.2);
// wrong: The coverage is the sum over all earlier queries. You used only the previous one.
// - return 0.2 + 0.3 + 0.4;  // the smaller ones of (0.2, 0.3, 0.5) and (0.7, 0.9, 0.4)
// + return 0.1 + 0.3 + 0.4;
// wrong: You added the query's own weights to the coverage. Then the smaller number is always the query's own weight.
// - return 0.2 + 0.3 + 0.4;  // the smaller ones of (0.2, 0.3, 0.5) and (0.7, 0.9, 0.4)
// + return 1;
// wrong: That is the probability of a stop at any key. The probability of reaching the end is the rest.
// - return 0.8 * 0.8 * 0.8 * 0.8;
// + return 1 - 0.8 * 0.8 * 0.8 * 0.8;
// wrong: The query passes four keys, so there are four factors.
// - return 0.8 * 0.8 * 0.8 * 0.8;
// + return 0.8 * 0.8 * 0.8;
// wrong: The first query may already have stopped at key 2. Then the second query starts there. You left out that
//   part.
// - return 0.8 * (0.5 + 0.25);  // from key 1, which it passes, and from key 2, where it is: 0.25
// + return 0.8 * 0.5;
// wrong: You assumed that the second query always reaches key 2. It comes from key 1 with probability 0.5 or starts
//   at key 2 with 0.25. In the remaining quarter, the first query passed the end.
// - return 0.8 * (0.5 + 0.25);  // from key 1, which it passes, and from key 2, where it is: 0.25
// + return 0.8 * (0.5 + 0.5);
// wrong: Softmax scores all pairs. Monotonic attention starts at its last stop and scores no key after the next stop.
// - return 100 + 40 - 1;  // 100 keys once, and the previous stop again for 39 symbols
// + return 100 * 40;
// wrong: You scored each key once. But each symbol after the first scores the key of the previous stop again.
// - return 100 + 40 - 1;  // 100 keys once, and the previous stop again for 39 symbols
// + return 100;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/attention/pointing/copy.hpp"
#include "nn/attention/pointing/coverage.hpp"
#include "nn/attention/pointing/monotonic.hpp"

void judge(Judge& judge) {
  const auto logit = [](double p) { return std::log(p / (1 - p)); };
  judge.claim("predicts a probability with a written and a copied part", [&] {
    const CopyScores scores{tensor({{{std::log(0.4), std::log(0.6)}}}, DType::f64),
                            tensor({{{0.1, 0.2, 0.3, 0.2, 0.2}}}, DType::f64),
                            tensor({{logit(0.25)}}, DType::f64)};
    const Indices source = Indices{0, 8, 9, 8, 0}.reshape({1, 5});
    judge.predicted(chance_of_bo(), copy_mixture(scores, source).at({0, 0, 0}), "P(Bo)");
  });
  judge.claim("predicts the coverage loss", [&] {
    const Tensor weights = tensor({{0.6, 0.4, 0}, {0.1, 0.5, 0.4}, {0.2, 0.3, 0.5}}, DType::f64);
    judge.predicted(looked_at_again(), coverage_loss(weights).at({2}), "the loss");
  });
  judge.claim("predicts the probability of reaching the end", [&] {
    const Tensor weights = monotonic_weights(full({1, 4}, logit(0.2), DType::f64));
    judge.predicted(std::round(100 * comes_to_the_end()) / 100, 1 - sum(weights).item(), "the probability");
  });
  judge.claim("predicts a second stop", [&] {
    const Tensor weights = monotonic_weights(tensor({{0, 0}, {-80, logit(0.8)}}, DType::f64));
    judge.predicted(second_stop(), weights.at({1, 1}), "the probability");
  });
  judge.claim("predicts the number of scores", [&] {
    // The number is the same for any stops that end with the last key. Here the first is at key 1, the others at the
    // last.
    Size scored = 0, stands = 0;
    for (Size t = 0; t < 40; ++t) {
      const Size stop = t == 0 ? 0 : 99;
      scored += stop - stands + 1;
      stands = stop;
    }
    judge.predicted(scores_at_most(), static_cast<double>(scored), "the scores");
  });
}
