// 13.3 in_sight: what a window shows
// predict, 10 minutes
//
// A window with D = 2 over a source of ten keys, 0 … 9. Predict how many keys it shows if p = 5, if p = 5.4,
// and in local-m at t = 0; the weight that local-p gives to key 7 if p = 5 and a mask hides the keys 3 to 6;
// and, in local-m with D = 5, how many letters of a text of 16, each doubled as in "kkeeyyss", are in sight
// at the step that has to write them.
#include "lessons/grader/answer.hpp"

double keys_at_a_place() {
  //[ p = 5
  //: return not_written_yet();
  return 5;  // 3, 4, 5, 6, 7: D on either side, and p's own
  //]
}

double keys_between_places() {
  //[ p = 5.4
  //: return not_written_yet();
  return 4;  // 4, 5, 6, 7: key 3 is 2.4 away, key 8 2.6
  //]
}

double keys_at_the_start() {
  //[ local-m, t = 0
  //: return not_written_yet();
  return 3;  // 0, 1, 2: nothing stands to the left of key 0
  //]
}

double weight_of_the_only_key() {
  //[ key 7, p = 5, local-p, the keys 3 to 6 hidden
  //: return not_written_yet();
  return std::exp(-2.0);  // softmax 1, times exp(−2² / 2σ²) with σ = 1
  //]
}

double letters_in_sight() {
  //[ of 16, local-m, D = 5
  //: return not_written_yet();
  return 6;  // letter t stands at 2t and 2t + 1, the window ends at t + 5: 2t ≤ t + 5 for t = 0 … 5
  //]
}

// hint: Key j is in the window if |j − p| ≤ 2. Write down which j those are.
// hint: A softmax over one key is ____. Then comes the fade, exp(−(7 − 5)² / 2σ²) with σ = D/2.
// hint: Letter t (from 0) stands at the places 2t and 2t + 1. At step t the window ends at t + D. When is 2t
//   in it?
//
// wrong: That is one side of the window. It reaches D to the left and D to the right.
// - return 5;  // 3, 4, 5, 6, 7: D on either side, and p's own
// + return 2;
// wrong: Two on the left, two on the right, and the one in the middle.
// - return 5;  // 3, 4, 5, 6, 7: D on either side, and p's own
// + return 4;
// wrong: The keys at exactly the distance D count: |j − p| ≤ D.
// - return 5;  // 3, 4, 5, 6, 7: D on either side, and p's own
// + return 3;
// wrong: That many come in sight if p is a whole number. From 5.4 key 3 is 2.4 away, and key 8 is 2.6.
// - return 4;  // 4, 5, 6, 7: key 3 is 2.4 away, key 8 2.6
// + return 5;
// wrong: You counted only one side's end. From 5.4 the keys within 2 lie between 3.4 and 7.4.
// - return 4;  // 4, 5, 6, 7: key 3 is 2.4 away, key 8 2.6
// + return 3;
// wrong: A window of five would reach to −1 and −2, and there is nothing.
// - return 3;  // 0, 1, 2: nothing stands to the left of key 0
// + return 5;
// wrong: Key 0 itself is at distance 0, so it is in sight too.
// - return 3;  // 0, 1, 2: nothing stands to the left of key 0
// + return 2;
// wrong: That is its softmax: the only key has all of it. But the fade comes after the softmax, and nothing
//   is normalised after the fade.
// - return std::exp(-2.0);
// + return 1;
// wrong: That is the fade with σ = D. Here σ = D/2, so that a key enters with a small weight.
// - return std::exp(-2.0);
// + return std::exp(-0.5);
// wrong: The fade does not reach 0 at the edge: a key enters at one blow, and this is why there is no
//   derivative there.
// - return std::exp(-2.0);
// + return 0;
// wrong: You left out the 2 in exp(−(j − p)² / 2σ²).
// - return std::exp(-2.0);
// + return std::exp(-4.0);
// wrong: You gave the hidden keys their share. The mask comes before the softmax, so key 7 is the only one in
//   the window that takes part.
// - return std::exp(-2.0);
// + return std::exp(-2.0) / 5;
// wrong: You asked for both places of a letter, 2t + 1 ≤ t + D. One of them is enough to read it.
// - return 6;  // letter t stands at 2t and 2t + 1, the window ends at t + 5: 2t ≤ t + 5 for t = 0 … 5
// + return 5;
// wrong: That many keys are in the window at one step. But the window moves by one place a letter, and the
//   letters by two: it falls behind.
// - return 6;  // letter t stands at 2t and 2t + 1, the window ends at t + 5: 2t ≤ t + 5 for t = 0 … 5
// + return 11;
// wrong: The window does not keep up: it moves by one place a letter, and the letters by two. From some step
//   on letter t lies to the right of t + D.
// - return 6;  // letter t stands at 2t and 2t + 1, the window ends at t + 5: 2t ≤ t + 5 for t = 0 … 5
// + return 16;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The weights of one query over ten keys, D = 2, at share · 10, as the library's layer gives them.
Tensor weights_at(double share, const Mask& mask) {
  Attention attention({}, dot(), {.local = local_p(2, 1, 1)});
  attention.initialise(1, DType::f64);
  std::vector<Tensor> leaves = attention.parameters();  // W_p and v_p
  assign(leaves[0], tensor({{30}}, DType::f64));        // tanh(30) = 1
  assign(leaves[1], tensor({std::log(share / (1 - share))}, DType::f64));
  const Tensor query = ones({1, 1, 1}, DType::f64), keys = ones({1, 10, 1}, DType::f64);
  return reshape(attention(query, keys, keys, mask).weights, {10});
}

/// The weights of local-m, (queries, keys).
Tensor monotonic(Size reach, Size queries, Size keys) {
  const Attention attention({}, dot(), {.local = local_m(reach)});
  const Tensor states = ones({1, keys, 1}, DType::f64);
  return select(attention(ones({1, queries, 1}, DType::f64), states, states).weights, 0, 0);
}

double shown(const Tensor& weights) {
  double count = 0;
  for (const double weight : weights.to_vector()) count += weight > 0 ? 1 : 0;
  return count;
}

}  // namespace

void judge(Judge& judge) {
  const Mask all = Mask::from(1, 10, [](Size, Size) { return true; }).reshape({1, 1, 10});
  judge.claim("foretells the keys around a place",
              [&] { judge.predicted(keys_at_a_place(), shown(weights_at(0.5, all)), "the keys in sight"); });
  judge.claim("foretells the keys between two places", [&] {
    judge.predicted(keys_between_places(), shown(weights_at(0.54, all)), "the keys in sight");
  });
  judge.claim("foretells the keys at the source's start", [&] {
    judge.predicted(keys_at_the_start(), shown(select(monotonic(2, 10, 10), 0, 0)), "the keys in sight");
  });
  judge.claim("foretells the weight of the only key left", [&] {
    const Mask mask = Mask::from(1, 10, [](Size, Size j) { return j < 3 || j > 6; }).reshape({1, 1, 10});
    judge.predicted(weight_of_the_only_key(), weights_at(0.5, mask).at({7}), "its weight");
  });
  judge.claim("foretells how far a window keeps up", [&] {
    const Tensor weights = monotonic(5, 16, 32);
    double letters = 0;
    for (Size t = 0; t < 16; ++t)
      letters += weights.at({t, 2 * t}) > 0 || weights.at({t, 2 * t + 1}) > 0 ? 1 : 0;
    judge.predicted(letters_in_sight(), letters, "the letters in sight");
  });
}
