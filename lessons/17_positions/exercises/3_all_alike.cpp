// 17.3 all_alike: what a place reads in a string of one symbol
// predict, 10 minutes
//
// The string aaaa: four places, all products q_i · k_j are equal, and every value v_j is the one number 3.
// Predict what each scheme of positions makes of it, with T5's numbers for the distances −3 … 3 (key − query)
// 0.5, −1, 2, 0, 1, 4, −2, and with Shaw's reach 1 and a^V_{−1} = −1, a^V_0 = 0, a^V_1 = 1 (its a^K are 0).
// Formulas are welcome.
#include "lessons/grader/answer.hpp"

double t5_reads_at_first() {
  //[ the number that place 0 reads with T5's biases
  //: return not_written_yet();
  return 3;  // weights add up to 1, and all values are 3
  //]
}

double shaw_reads_at_first() {
  //[ the number that place 0 reads with Shaw's vectors
  //: return not_written_yet();
  return 3 + (0 + 1 + 1 + 1) / 4.0;  // four equal weights; the distances 2 and 3 count as 1
  //]
}

double shaw_reads_at_last() {
  //[ the number that place 3 reads with Shaw's vectors
  //: return not_written_yet();
  return 3 - (1 + 1 + 1 + 0) / 4.0;  // all others stand to the left: a^V of −1
  //]
}

double alibi_weight_three_left() {
  //[ ALiBi, head h = 2 of H = 4: the weight of the key three to the left, as a share of the own place's
  //: return not_written_yet();
  return std::exp(-3.0 / 16);  // m = 2^{−8 · 2 / 4} = 1/16; the difference of scores is an exponent
  //]
}

// hint: T5, ALiBi and rotary change the weights only. What is an average of four equal numbers?
// hint: Shaw adds Σ_j α_ij a^V_{j−i}. All scores are equal, so each α is __; which distances does place 0
//   see?
// hint: Two weights of one softmax have the ratio e^{s − s'}. For ALiBi s − s' is −m · __, and m = 2^{−8h/H}.
//
// wrong: You added T5's numbers to what is read. They are added to the scores, so they move weights, and the
//   weights still add up to 1.
// - return 3;  // weights add up to 1, and all values are 3
// + return 3 + (0 + 1 + 4 - 2) / 4.0;
// wrong: That is the mean of T5's numbers. They are no values: they move weights, and what is read are the v_j.
// - return 3;  // weights add up to 1, and all values are 3
// + return (0 + 1 + 4 - 2) / 4.0;
// wrong: You summed the values: four times 3. The weights of a place add up to 1, so it reads an average.
// - return 3;  // weights add up to 1, and all values are 3
// + return 12;
// wrong: That is 3 and nothing of a^V. If you wrote / 4: between whole numbers a division cuts off, so write / 4.0.
// - return 3 + (0 + 1 + 1 + 1) / 4.0;
// + return 3;
// wrong: You gave the distances 2 and 3 no vector. Farther distances count as the reach, here 1: nothing is
//   left out.
// - return 3 + (0 + 1 + 1 + 1) / 4.0;
// + return 3 + (0 + 1 + 0 + 0) / 4.0;
// wrong: You let a^V grow with the distance, 1, 2, 3. There is one vector for each distance up to the reach,
//   and the farther ones use the last.
// - return 3 + (0 + 1 + 1 + 1) / 4.0;
// + return 3 + (0 + 1 + 2 + 3) / 4.0;
// wrong: You turned the sign of the distance: it is j − i, key minus query, so at the first place all others
//   are at positive distances.
// - return 3 + (0 + 1 + 1 + 1) / 4.0;
// + return 3 - (0 + 1 + 1 + 1) / 4.0;
// wrong: You said that place 3 reads the same as place 0. With Shaw's values it does not, and this is how a
//   place can tell from aaaa where it stands: all its neighbours are on the left.
// - return 3 - (1 + 1 + 1 + 0) / 4.0;
// + return 3 + (1 + 1 + 1 + 0) / 4.0;
// wrong: You took 1 − m · 3. The slope is subtracted from the score, and a score is an exponent.
// - return std::exp(-3.0 / 16);
// + return 1 - 3.0 / 16;
// wrong: That is the difference of the two scores. A softmax takes e to the power of it.
// - return std::exp(-3.0 / 16);
// + return -3.0 / 16;
// wrong: With 1 nothing fades. If you wrote 3 / 16: between whole numbers a division cuts off, so write 3.0 / 16.
// - return std::exp(-3.0 / 16);
// + return 1;
// wrong: You counted heads from 0. Head h = 2 of 4 has m = 2^{−8 · 2 / 4} = 1/16, not 1/4.
// - return std::exp(-3.0 / 16);
// + return std::exp(-3.0 / 4);
// wrong: That is m, the slope, and not yet the ratio of two weights.
// - return std::exp(-3.0 / 16);
// + return 1 / 16.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// What place `i` reads of the values 3, with a bias and an added value for each distance.
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
  judge.claim("foretells what T5's biases change", [&] {
    const std::vector<double> biases = {0.5, -1, 2, 0, 1, 4, -2};
    judge.predicted(t5_reads_at_first(),
                    read_at(
                        0, [&](Size d) { return biases[static_cast<std::size_t>(d + 3)]; }, nothing),
                    "what place 0 reads with T5");
  });
  judge.claim("foretells what Shaw's values change at the first place", [&] {
    judge.predicted(shaw_reads_at_first(), read_at(0, nothing, shaw_value), "what place 0 reads with Shaw");
  });
  judge.claim("foretells what Shaw's values change at the last place", [&] {
    judge.predicted(shaw_reads_at_last(), read_at(3, nothing, shaw_value), "what place 3 reads with Shaw");
  });
  judge.claim("foretells how ALiBi fades", [&] {
    const Tensor slopes = exp(-std::log(2.0) * 8 * arange(1, 5, 1, DType::f64) / 4);  // heads 1 … 4
    const double slope = slopes.at({1});
    const Tensor weights = softmax(tensor({0.7 - 3 * slope, 0.7}, DType::f64), -1);
    judge.predicted(alibi_weight_three_left(), weights.at({0}) / weights.at({1}),
                    "the weight three to the left, as a share of the own place's");
  });
}
