// 30.3 what_is_read: Predict what a memory returns
// predict, 10 minutes
//
// Each memory S starts as zeros. All keys are unit vectors. Predict six numbers:
//
// - With the sum rule, we write 5 at the key (1, 0), then 7 at (0, 1), then 1 at (1, 0) again. What does a read at (1,
//   0) return?
// - We do the same three writes with the delta rule. What does a read at (1, 0) return?
// - With the delta rule, we write 10 at (1, 0) and then 0 at (0.6, 0.8). What does a read at (1, 0) return?
// - With the sum rule and a gate α = 0.5, we write 8 at a key, and then three more values at keys orthogonal to it.
//   What does a read at the first key return?
// - With the sum rule, we write 65 pairs with random keys of d = 16 numbers and values of norm 1. What is the mean
//   squared norm of the noise?
// - With d = e = 64, for how many words do the keys and values take as much memory as the matrix S?
#include "lessons/grader/answer.hpp"

double by_the_sum() {
  //[ 5 at (1, 0), 7 at (0, 1), 1 at (1, 0), with the sum rule
  //: return not_written_yet();
  return 6;  // 5 + 1: the key (0, 1) is orthogonal
  //]
}

double by_the_delta_rule() {
  //[ the same writes, with the delta rule
  //: return not_written_yet();
  return 1;  // the second write replaces the first
  //]
}

double after_a_neighbour() {
  //[ 10 at (1, 0), 0 at (0.6, 0.8), with the delta rule
  //: return not_written_yet();
  return 6.4;  // the rule reads 6 and writes −6: S = (10, 0) − 6 (0.6, 0.8) = (6.4, −4.8)
  //]
}

double after_three_gates() {
  //[ 8, then three more words, α = 0.5
  //: return not_written_yet();
  return 8 * 0.5 * 0.5 * 0.5;  // all of S fades at each word
  //]
}

double square_of_the_noise() {
  //[ P = 65, d = 16
  //: return not_written_yet();
  return 4;  // (P − 1) / d
  //]
}

double words_of_equal_room() {
  //[ d = e = 64
  //: return not_written_yet();
  return 32;  // 2 · 64 numbers per word, 64 · 64 in the matrix
  //]
}

// hint: A read at one key returns nothing from orthogonal keys. With the sum rule, which writes does a read at (1, 0)
//   return? With the delta rule, what does the read before the second write at (1, 0) return?
// hint: A read at (0.6, 0.8) returns 0.6 · 10 = 6, but the value to write there is 0. So the delta rule adds −6 (0.6,
//   0.8) to S. What is the first number of (10, 0) − 6 (0.6, 0.8)?
// hint: Each of the 64 other pairs adds (k_i · k_j)² to the mean squared norm of the noise, on average 1/__. A word has
//   a key and a value, together ___ numbers.

// wrong: The sum rule adds 1 to the stored 5. The 1 doesn't replace the 5.
// - return 6;
// + return 1;
// wrong: The 7 was written at (0, 1). This key is orthogonal to (1, 0), so a read at (1, 0) doesn't return the 7.
// - return 6;
// + return 13;
// wrong: The delta rule writes the difference between the new value and the read. The read is 5 and the new value is 1,
//   so the rule writes −4.
// - return 1;
// + return 6;
// wrong: −4 is the difference that the delta rule writes. It is added to the stored 5.
// - return 1;
// + return -4;
// wrong: Writing 0 also changes S. A read at the second key returns 6, so the delta rule writes −6.
// - return 6.4;
// + return 10;
// wrong: The second write subtracts 6 (0.6, 0.8) from S. The component of this vector along (1, 0) is only 0.6 · 6 =
//   3.6.
// - return 6.4;
// + return 4;
// wrong: The gate doesn't depend on the keys. At each of the three words after the 8, it multiplies all of S.
// - return 8 * 0.5 * 0.5 * 0.5;
// + return 8;
// wrong: Three words came after the 8. The gate is applied before a write, so the 8 doesn't fade at its own word.
// - return 8 * 0.5 * 0.5 * 0.5;
// + return 0.5;
// wrong: A pair adds no noise to the read at its own key. Only the 64 other pairs do.
// - return 4;
// + return 65.0 / 16;
// wrong: 2 is the square root. Predict the mean squared norm of the noise.
// - return 4;
// + return 2;
// wrong: Each word has a key and a value, which are 2 · 64 numbers, not 64.
// - return 32;
// + return 64;
// wrong: The matrix has 4096 numbers. Divide 4096 by the count for one word, a key and a value.
// - return 32;
// + return 4096;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  judge.claim("predicts the read with the sum rule",
              [&] { judge.predicted(by_the_sum(), 5 + 1, "the read with the sum rule"); });
  judge.claim("predicts the read with the delta rule",
              [&] { judge.predicted(by_the_delta_rule(), 1, "the read with the delta rule"); });
  judge.claim("predicts the read after a write at a nearby key", [&] {
    const double s = 10, found = 0.6 * s;
    judge.predicted(after_a_neighbour(), s - found * 0.6, "the read after a write at a nearby key");
  });
  judge.claim("predicts the read after three gates", [&] {
    judge.predicted(after_three_gates(), 8 * 0.5 * 0.5 * 0.5, "the read after three gates");
  });
  judge.claim("predicts the noise", [&] {
    judge.predicted(std::round(100 * square_of_the_noise()) / 100, 64.0 / 16,
                    "the mean squared norm of the noise");
  });
  judge.claim("predicts the memory of keys and values",
              [&] { judge.predicted(words_of_equal_room(), 64.0 * 64 / (2 * 64), "the number of words"); });
}
