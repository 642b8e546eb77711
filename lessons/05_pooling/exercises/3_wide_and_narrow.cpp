// 5.3 wide_and_narrow: Wide and narrow σ
// predict, 10 minutes
//
// The keys are 0, 1 and 3, and their values are 2, 4 and 12. A query q has the weights α_j ∝ exp(−(q − k_j)² / 2σ²).
// The sign ∝ means "proportional to".
//
// Predict the answer for a very large σ, for a very small σ, and for a query far away from all keys. Then predict a
// ratio: the weight of a key at distance σ from the query, divided by the weight of a key at the query's own place.
//
// You may return a formula instead of a number. The judge runs the library's Attention with the score
// nadaraya_watson(σ).
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
  return 4;  // the distances are 1.6, 0.6 and 1.4: the key at 1 is nearest
  //]
}

double answer_far_away() {
  //[ the query 100, σ = 1
  //: return not_written_yet();
  return 12;  // the scores of 1 and 3 differ by (99² − 97²) / 2 = 196: the nearest gets all of the weight
  //]
}

double share_one_sigma_away() {
  //[ the weight of a key one σ from the query ÷ that of a key at the query
  //: return not_written_yet();
  return std::exp(-0.5);  // the scores are −1/2 and 0, and both weights are divided by the same sum
  //]
}

// hint: What are the three scores if σ is a million? What is the softmax of three equal scores?
// hint: With a small σ, the scores are large negative numbers that differ by much. Which key gets all of the weight?
// hint: Softmax depends only on the differences of the scores. Two weights of the same query have the ratio e^(s − s′).
//   Here s′ = 0 and s = −σ² / ____.
//
// wrong: You let all weights become 0. For a large σ the scores approach 0, so every e^score approaches e⁰ = 1. The
//   weights add up to 1 for every σ.
// - return (2 + 4 + 12) / 3.0;
// + return 0;
// wrong: You added the values. With equal weights, each value has the weight 1/3.
// - return (2 + 4 + 12) / 3.0;
// + return 2 + 4 + 12;
// wrong: You return the value of the nearest key, which is right for a small σ. With a large σ, near and far keys have
//   nearly the same weight.
// - return (2 + 4 + 12) / 3.0;
// + return 4;
// wrong: You interpolated linearly between the two neighbours. As σ shrinks, the nearest key's weight divided by any
//   other key's weight grows without bound.
// - return 4;
// + return 4 + 0.3 * 8;
// wrong: You took the mean of the two neighbours. Their distances are 0.6 and 1.4, and with a small σ the nearer one
//   gets nearly all of the weight.
// - return 4;
// + return 8;
// wrong: You chose the key at 3. Its distance from the query is 1.4, and the distance of the key at 1 is only 0.6.
// - return 4;
// + return 12;
// wrong: You let the answer become 0, because every e^score is nearly 0. Softmax divides by their sum, so only the
//   differences of the scores matter.
// - return 12;
// + return 0;
// wrong: You continued the values along a line. A weighted average with positive weights stays within the range of the
//   values, 2 to 12.
// - return 12;
// + return 12 + 97 * 4;
// wrong: You treated the three keys as equally far away. The *squared* distances 97² and 99² differ by 392.
// - return 12;
// + return 6;
// wrong: The 2 in 2σ² is missing. At distance σ the score is −1/2.
// - return std::exp(-0.5);
// + return std::exp(-1.0);
// wrong: You return the score. The weight is e^score, divided by a sum.
// - return std::exp(-0.5);
// + return -0.5;
// wrong: You return the probability of a normal distribution within one σ, which is an area. The ratio of the two
//   weights is the height of the Gaussian at distance σ.
// - return std::exp(-0.5);
// + return 0.6827;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the output of the library's attention for `query`.
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
  judge.claim("predicts the answer for a very large σ",
              [&] { judge.predicted(answer_if_wide(), answer(1.6, 1e6), "the answer with a large σ"); });
  judge.claim("predicts the answer for a very small σ",
              [&] { judge.predicted(answer_if_narrow(), answer(1.6, 0.01), "the answer with a small σ"); });
  judge.claim("predicts the answer far away from all keys",
              [&] { judge.predicted(answer_far_away(), answer(100, 1), "the answer at 100"); });
  judge.claim("predicts the weight at distance σ", [&] {
    const double sigma = judge.random().uniform(0.5, 3);
    const Tensor keys = tensor({{5}, {5 + sigma}, {5 - 2 * sigma}}, DType::f64);
    const Tensor weights = asked(5, sigma, keys, keys).weights;
    judge.predicted(share_one_sigma_away(), weights.at({0, 1}) / weights.at({0, 0}),
                    "the ratio of the weights");
  });
}
