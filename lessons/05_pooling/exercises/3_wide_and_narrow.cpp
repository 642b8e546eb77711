// 5.3 wide_and_narrow: what becomes of the answer as σ grows and shrinks
// predict, 10 minutes
//
// Three keys lie at 0, 1 and 3; behind them are the values 2, 4 and 12. A query asks with the weights α_j ∝
// exp(−(q − k_j)² / 2σ²).
//
// Predict the answer for a very large σ, for a very small one, and far away from all keys; then how much
// weight a key has if it is one σ away, as a share of the weight that one at the query's own place has. A
// formula is as good as a number. The judge runs the library's Attention with the score nadaraya_watson(σ).
#include "lessons/grader/answer.hpp"

double answer_if_wide() {
  //[ the query 1.6, σ = 1,000,000
  //: return not_written_yet();
  return (2 + 4 + 12) / 3.0;  // all scores are nearly 0: equal weights
  //]
}

double answer_if_narrow() {
  //[ the query 1.6, σ = 0.01
  //: return not_written_yet();
  return 4;  // 1.6, 0.6 and 1.4 away: the key at 1 is nearest
  //]
}

double answer_far_away() {
  //[ the query 100, σ = 1
  //: return not_written_yet();
  return 12;  // the scores of 1 and 3 differ by (99² − 97²) / 2 = 196: the nearest has all the weight
  //]
}

double share_one_sigma_away() {
  //[ the weight of a key one σ from the query ÷ that of a key at the query
  //: return not_written_yet();
  return std::exp(-0.5);  // scores −1/2 and 0; the sum below is the same for both
  //]
}

// hint: What are the three scores if σ is a million? And the softmax of three equal scores?
// hint: With a small σ the scores are large and far apart. To which key does all the weight go?
// hint: Softmax looks only at the differences of scores. Two weights of one query have the ratio e^(s − s');
//   here s' = 0 and s = −σ² / ____.
//
// wrong: You let all weights vanish. The scores go to 0, so every e^score goes to e⁰ = 1, and the weights add
//   up to 1 whatever σ is.
// - return (2 + 4 + 12) / 3.0;
// + return 0;
// wrong: You added the values. With equal weights each has 1/3.
// - return (2 + 4 + 12) / 3.0;
// + return 2 + 4 + 12;
// wrong: That is the value of the nearest key, which a small σ gives. A large σ no longer tells near from
//   far.
// - return (2 + 4 + 12) / 3.0;
// + return 4;
// wrong: You drew a line between the two neighbours. These weights know no lines: as σ shrinks, the ratio of
//   the nearest key's weight to any other's grows beyond all limits.
// - return 4;
// + return 4 + 0.3 * 8;
// wrong: You took the mean of the two neighbours. They are not equally near, 0.6 and 1.4, and with a small σ
//   that decides everything.
// - return 4;
// + return 8;
// wrong: You took the key at 3. It is 1.4 away from the query, the key at 1 only 0.6.
// - return 4;
// + return 12;
// wrong: You let the answer vanish because every e^score is nearly 0 so far away. They are divided by their
//   sum, and softmax sees only how the scores differ.
// - return 12;
// + return 0;
// wrong: You went on along a line. An average with positive weights cannot leave the range of the values, 2
//   to 12.
// - return 12;
// + return 12 + 97 * 4;
// wrong: You took three keys that are all far away for equally far. Squares grow: 97² and 99² differ by 392.
// - return 12;
// + return 6;
// wrong: The 2 in 2σ² is missing: the score is −1/2 one σ away.
// - return std::exp(-0.5);
// + return std::exp(-1.0);
// wrong: That is the score, not the weight. A weight is e to the score, divided by the sum.
// - return std::exp(-0.5);
// + return -0.5;
// wrong: That is the share within one σ of a normal distribution, an area. Asked for is the bump's height.
// - return std::exp(-0.5);
// + return 0.6827;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// What the library's attention reads at `query`.
AttentionOutput asked(double query, double sigma, const Tensor& keys, const Tensor& values) {
  Attention attention{nadaraya_watson(sigma)};
  attention.initialise(1, DType::f64);
  return attention(tensor({{query}}, DType::f64), keys, values);
}

double answer(double query, double sigma) {
  const Tensor keys = tensor({{0}, {1}, {3}}, DType::f64), values = tensor({{2}, {4}, {12}}, DType::f64);
  return asked(query, sigma, keys, values).context.item();
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("foretells a very large σ",
              [&] { judge.predicted(answer_if_wide(), answer(1.6, 1e6), "the answer with a large σ"); });
  judge.claim("foretells a very small σ",
              [&] { judge.predicted(answer_if_narrow(), answer(1.6, 0.01), "the answer with a small σ"); });
  judge.claim("foretells the answer far away from all keys",
              [&] { judge.predicted(answer_far_away(), answer(100, 1), "the answer at 100"); });
  judge.claim("foretells how the weight falls with the distance", [&] {
    const double sigma = judge.random().uniform(0.5, 3);
    const Tensor keys = tensor({{5}, {5 + sigma}, {5 - 2 * sigma}}, DType::f64);
    const Tensor weights = asked(5, sigma, keys, keys).weights;
    judge.predicted(share_one_sigma_away(), weights.at({0, 1}) / weights.at({0, 0}), "the share one σ away");
  });
}
