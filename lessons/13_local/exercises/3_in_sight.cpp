// 13.3 in_sight: The keys in a window
// predict, 10 minutes
//
// Local attention has a window with D = 2. The source has ten keys, numbered 0 … 9. Predict five numbers:
//
//     p = 5                                                       keys in the window
//     p = 5.4                                                     keys in the window
//     local-m at step t = 0                                       keys in the window
//     local-p with p = 5, where a mask hides the keys 3 to 6      the weight of key 7
//     local-m with D = 5 on 16 doubled letters, "kkeeyyss…"       letters that the window reaches
//
// The window reaches a letter if at least one of the letter's two copies is in the window at the step that has
// to write this letter.
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
  return 3;  // 0, 1, 2: there is no key to the left of key 0
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
  return 6;  // letter t is at 2t and 2t + 1, the window ends at t + 5: 2t ≤ t + 5 for t = 0 … 5
  //]
}

// hint: Key j is in the window if |j − p| ≤ 2. Write down these j.
// hint: A softmax over one key is ____. Multiply it by the fade, exp(−(7 − 5)² / 2σ²) with σ = D/2.
// hint: Letter t (counted from 0) is at the places 2t and 2t + 1. At step t, the window ends at t + D. For
//   which t is the place 2t inside?
//
// wrong: You counted one side of the window. The window reaches D places to the left and D places to the right.
// - return 5;  // 3, 4, 5, 6, 7: D on either side, and p's own
// + return 2;
// wrong: You left out key 5 itself. There are two keys on the left, two on the right, and one in the middle.
// - return 5;  // 3, 4, 5, 6, 7: D on either side, and p's own
// + return 4;
// wrong: You left out the keys at exactly the distance D. They count, because |j − p| ≤ D.
// - return 5;  // 3, 4, 5, 6, 7: D on either side, and p's own
// + return 3;
// wrong: Five keys are in the window if p is a whole number. From 5.4, key 3 is 2.4 places away and key 8 is
//   2.6 places away.
// - return 4;  // 4, 5, 6, 7: key 3 is 2.4 away, key 8 2.6
// + return 5;
// wrong: One key is missing. The keys within 2 places of 5.4 are those between 3.4 and 7.4.
// - return 4;  // 4, 5, 6, 7: key 3 is 2.4 away, key 8 2.6
// + return 3;
// wrong: Five keys would include −1 and −2, which do not exist.
// - return 3;  // 0, 1, 2: there is no key to the left of key 0
// + return 5;
// wrong: Key 0 is at the distance 0, so it is in the window too.
// - return 3;  // 0, 1, 2: there is no key to the left of key 0
// + return 2;
// wrong: 1 is the softmax of key 7, the only key left. But the fade is applied after the softmax, and the
//   weights are not normalised again.
// - return std::exp(-2.0);
// + return 1;
// wrong: You computed the fade with σ = D. It should be σ = D/2, so that a key enters the window with a small
//   weight.
// - return std::exp(-2.0);
// + return std::exp(-0.5);
// wrong: The fade is not 0 at the edge of the window. The weight of a key jumps when the key enters, and so
//   there is no derivative there.
// - return std::exp(-2.0);
// + return 0;
// wrong: You left out the 2 in exp(−(j − p)² / 2σ²).
// - return std::exp(-2.0);
// + return std::exp(-4.0);
// wrong: You counted the hidden keys in the softmax. The mask is applied before the softmax, so key 7 is the
//   only key in the softmax.
// - return std::exp(-2.0);
// + return std::exp(-2.0) / 5;
// wrong: You required both copies of a letter in the window, 2t + 1 ≤ t + D. One copy is enough to find the
//   letter.
// - return 6;  // letter t is at 2t and 2t + 1, the window ends at t + 5: 2t ≤ t + 5 for t = 0 … 5
// + return 5;
// wrong: 11 is the number of keys in the window at one step. But the window moves by one place per step, and
//   the letters by two places, so the window falls behind.
// - return 6;  // letter t is at 2t and 2t + 1, the window ends at t + 5: 2t ≤ t + 5 for t = 0 … 5
// + return 11;
// wrong: The window falls behind: it moves by one place per step, and the letters by two places. After some
//   step, letter t is to the right of t + D.
// - return 6;  // letter t is at 2t and 2t + 1, the window ends at t + 5: 2t ≤ t + 5 for t = 0 … 5
// + return 16;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the weights that the library's layer computes for one query and ten keys, with D = 2 and p = share ·
/// 10.
Tensor weights_at(double share, const Mask& mask) {
  Attention attention({}, dot(), {.local = local_p(2, 1, 1)});
  attention.initialise(1, DType::f64);
  std::vector<Tensor> leaves = attention.parameters();  // W_p and v_p
  assign(leaves[0], tensor({{30}}, DType::f64));        // tanh(30) = 1
  assign(leaves[1], tensor({std::log(share / (1 - share))}, DType::f64));
  const Tensor query = ones({1, 1, 1}, DType::f64), keys = ones({1, 10, 1}, DType::f64);
  return reshape(attention(query, keys, keys, mask).weights, {10});
}

/// Returns the weights of local-m, (queries, keys).
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
  judge.claim("predicts the keys around p = 5", [&] {
    judge.predicted(keys_at_a_place(), shown(weights_at(0.5, all)), "the keys in the window");
  });
  judge.claim("predicts the keys around p = 5.4", [&] {
    judge.predicted(keys_between_places(), shown(weights_at(0.54, all)), "the keys in the window");
  });
  judge.claim("predicts the keys at step 0", [&] {
    judge.predicted(keys_at_the_start(), shown(select(monotonic(2, 10, 10), 0, 0)), "the keys in the window");
  });
  judge.claim("predicts the weight of the only key left", [&] {
    const Mask mask = Mask::from(1, 10, [](Size, Size j) { return j < 3 || j > 6; }).reshape({1, 1, 10});
    judge.predicted(weight_of_the_only_key(), weights_at(0.5, mask).at({7}), "the weight of key 7");
  });
  judge.claim("predicts the letters that the window reaches", [&] {
    const Tensor weights = monotonic(5, 16, 32);
    double letters = 0;
    for (Size t = 0; t < 16; ++t)
      letters += weights.at({t, 2 * t}) > 0 || weights.at({t, 2 * t + 1}) > 0 ? 1 : 0;
    judge.predicted(letters_in_sight(), letters, "the letters in the window");
  });
}
