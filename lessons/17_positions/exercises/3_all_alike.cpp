// 17.3 all_alike: The outputs for a string of one symbol
// predict, 10 minutes
//
// Consider the string aaaa, with the four positions 0 to 3. All products q_i · k_j are equal, and every value
// v_j is the single number 3. The output at a position is the weighted average of the values. Predict four
// numbers; formulas are welcome.
//
// The first three are outputs:
//
//     position 0 with T5        the numbers for the distances −3 … 3 (key − query) are 0.5, −1, 2, 0, 1, 4, −2
//     position 0 with Shaw      r = 1, a^V_{−1} = −1, a^V_0 = 0, a^V_1 = 1, and all a^K are 0
//     position 3 with Shaw      with the same vectors
//
// The last one is for ALiBi, in head h = 2 of H = 4: the weight of the key three positions to the left, divided
// by the weight of the query's own position.
#include "lessons/grader/answer.hpp"

double t5_reads_at_first() {
  //[ the output at position 0 with T5's numbers
  //: return not_written_yet();
  return 3;  // the weights add up to 1, and all values are 3
  //]
}

double shaw_reads_at_first() {
  //[ the output at position 0 with Shaw's vectors
  //: return not_written_yet();
  return 3 + (0 + 1 + 1 + 1) / 4.0;  // four equal weights; the distances 2 and 3 count as 1
  //]
}

double shaw_reads_at_last() {
  //[ the output at position 3 with Shaw's vectors
  //: return not_written_yet();
  return 3 - (1 + 1 + 1 + 0) / 4.0;  // all other positions are to the left: a^V_{−1}
  //]
}

double alibi_weight_three_left() {
  //[ ALiBi, head h = 2 of H = 4: weight three to the left, divided by the weight of the query's own position
  //: return not_written_yet();
  return std::exp(-3.0 / 16);  // m = 2^{−8 · 2 / 4} = 1/16; the exponent is the difference of the two scores
  //]
}

// hint: T5, ALiBi and rotary change only the weights. What is a weighted average of four equal numbers?
// hint: Shaw's scheme adds Σ_j α_ij a^V_{j−i} to the output. All scores are equal, so each α is __. Which
//   distances occur for position 0?
// hint: Two weights of one softmax have the ratio e^{s − s'}. For ALiBi, s − s' is −m · __, and m = 2^{−8h/H}.
//
// wrong: You added T5's numbers to the output. They are added to the scores. So they change the weights, which
//   still add up to 1.
// - return 3;  // weights add up to 1, and all values are 3
// + return 3 + (0 + 1 + 4 - 2) / 4.0;
// wrong: You computed the mean of T5's numbers. They are not values; they change the weights. The values are
//   the v_j.
// - return 3;  // weights add up to 1, and all values are 3
// + return (0 + 1 + 4 - 2) / 4.0;
// wrong: You summed the values: four times 3. The weights of a position add up to 1, so the output is an
//   average.
// - return 3;  // weights add up to 1, and all values are 3
// + return 12;
// wrong: You left out a^V. Or if you wrote / 4: a division of integers rounds down, so write / 4.0.
// - return 3 + (0 + 1 + 1 + 1) / 4.0;
// + return 3;
// wrong: You gave the distances 2 and 3 no vector. Distances farther than r count as r, which is 1 here.
// - return 3 + (0 + 1 + 1 + 1) / 4.0;
// + return 3 + (0 + 1 + 0 + 0) / 4.0;
// wrong: You let a^V grow with the distance, as 1, 2, 3. There is one vector for each distance up to r, and all
//   farther distances use the last vector.
// - return 3 + (0 + 1 + 1 + 1) / 4.0;
// + return 3 + (0 + 1 + 2 + 3) / 4.0;
// wrong: You used the wrong sign for the distance. It is j − i, key minus query, so from position 0 all other
//   keys have positive distances.
// - return 3 + (0 + 1 + 1 + 1) / 4.0;
// + return 3 - (0 + 1 + 1 + 1) / 4.0;
// wrong: You predicted the same output at positions 3 and 0. With Shaw's values, the outputs differ: at
//   position 3, all other keys are on the left. That is how Shaw's scheme can distinguish the positions of
//   aaaa.
// - return 3 - (1 + 1 + 1 + 0) / 4.0;
// + return 3 + (1 + 1 + 1 + 0) / 4.0;
// wrong: You computed 1 − m · 3. ALiBi subtracts m · 3 from the score, and the softmax takes e to the power of
//   the score.
// - return std::exp(-3.0 / 16);
// + return 1 - 3.0 / 16;
// wrong: You computed the difference of the two scores. The ratio of the weights is e to the power of this
//   difference.
// - return std::exp(-3.0 / 16);
// + return -3.0 / 16;
// wrong: A ratio of 1 means equal weights, but ALiBi makes the farther key's weight smaller. If you wrote
//   3 / 16: a division of integers rounds down, so write 3.0 / 16.
// - return std::exp(-3.0 / 16);
// + return 1;
// wrong: You counted heads from 0. Head h = 2 of 4 has m = 2^{−8 · 2 / 4} = 1/16, not 1/4.
// - return std::exp(-3.0 / 16);
// + return std::exp(-3.0 / 4);
// wrong: This is the slope m, not the ratio of two weights.
// - return std::exp(-3.0 / 16);
// + return 1 / 16.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the output at position `i` for values 3, with a bias and an added value for each distance.
double read_at(Size i, const std::function<double(Size)>& bias, const std::function<double(Size)>& added) {
  std::vector<double> scores, values;
  for (Size j = 0; j < 4; ++j) {
    scores.push_back(0.7 + bias(j - i));
    values.push_back(3 + added(j - i));
  }
  const Tensor weights = softmax(tensor(scores, {4}, DType::f64), -1);
  return sum(weights * tensor(values, {4}, DType::f64)).item();
}
double nothing(Size) { return 0; }
double shaw_value(Size distance) { return static_cast<double>(std::clamp<Size>(distance, -1, 1)); }

}  // namespace

void judge(Judge& judge) {
  judge.claim("predicts the output at position 0 with T5's numbers", [&] {
    const std::vector<double> biases = {0.5, -1, 2, 0, 1, 4, -2};
    judge.predicted(t5_reads_at_first(),
                    read_at(
                        0, [&](Size d) { return biases[static_cast<std::size_t>(d + 3)]; }, nothing),
                    "the output at position 0 with T5");
  });
  judge.claim("predicts the output at position 0 with Shaw's vectors", [&] {
    judge.predicted(shaw_reads_at_first(), read_at(0, nothing, shaw_value),
                    "the output at position 0 with Shaw");
  });
  judge.claim("predicts the output at position 3 with Shaw's vectors", [&] {
    judge.predicted(shaw_reads_at_last(), read_at(3, nothing, shaw_value),
                    "the output at position 3 with Shaw");
  });
  judge.claim("predicts the ratio of two weights with ALiBi", [&] {
    const Tensor slopes = exp(-std::log(2.0) * 8 * arange(1, 5, 1, DType::f64) / 4);  // heads 1 … 4
    const double slope = slopes.at({1});
    const Tensor weights = softmax(tensor({0.7 - 3 * slope, 0.7}, DType::f64), -1);
    judge.predicted(alibi_weight_three_left(), weights.at({0}) / weights.at({1}),
                    "the ratio of the two weights");
  });
}
