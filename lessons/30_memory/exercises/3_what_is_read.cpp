// 30.3 what_is_read: Predict what a memory returns
// predict, 10 minutes
//
// Each memory starts empty. Predict six numbers:
//
// - We write 5 at the key (1, 0), then 7 at (0, 1), then 1 at (1, 0) again. What does (1, 0) read with the sum rule?
// - What does it read with the delta rule?
// - We write 10 at (1, 0) and then 0 at (0.6, 0.8). What does (1, 0) read with the delta rule?
// - We write 8 at a key, and then three more values at keys orthogonal to it, with a gate α = 0.5. What does the first
//   key read?
// - With the sum rule, 65 pairs, random keys of size d = 16 and values of length 1: what is the mean square of the
//   noise?
// - For how many words do keys and values take as much memory as the matrix, with d = e = 64?
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
  return 6.4;  // the second write reads 6 and writes −6: S = (10, 0) − 6 (0.6, 0.8) = (6.4, −4.8)
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

// hint: Orthogonal keys don't read each other's values. Which writes does (1, 0) read with the sum rule? And what does
//   the delta rule read before the second write at (1, 0)?
// hint: The key (0.6, 0.8) reads 0.6 · 10 = 6, but its value is 0. So the delta rule adds −6 (0.6, 0.8) to S. What is
//   the first number of (10, 0) − 6 (0.6, 0.8)?
// hint: Each of the 64 other pairs adds (k_i · k_j)² to the noise, on average 1/__. A word has a key and a value,
//   together ___ numbers.

// wrong: The sum rule adds 1 to the stored 5. It doesn't replace the 5.
// - return 6;
// + return 1;
// wrong: The 7 was written at (0, 1). This key is orthogonal: (1, 0) · (0, 1) = 0.
// - return 6;
// + return 13;
// wrong: The delta rule writes only what is missing: it reads 5, and the new value is 1, so it writes −4.
// - return 1;
// + return 6;
// wrong: −4 is what the delta rule writes. It is added to the 5.
// - return 1;
// + return -4;
// wrong: Writing 0 also changes S: the second key reads 6, so the delta rule writes −6.
// - return 6.4;
// + return 10;
// wrong: The second write subtracts 6 (0.6, 0.8) from S. Only 0.6 · 6 = 3.6 of that is along (1, 0).
// - return 6.4;
// + return 4;
// wrong: The gate doesn't depend on keys. It multiplies all of S at each of the three words.
// - return 8 * 0.5 * 0.5 * 0.5;
// + return 8;
// wrong: Three words came after the 8. The gate is applied before a write, so the 8 doesn't fade at its own word.
// - return 8 * 0.5 * 0.5 * 0.5;
// + return 0.5;
// wrong: A pair adds no noise to its own read. Only the 64 other pairs do.
// - return 4;
// + return 65.0 / 16;
// wrong: That is the length of the noise. Predict its square.
// - return 4;
// + return 2;
// wrong: Each word has a key and a value, 2 · 64 numbers.
// - return 32;
// + return 64;
// wrong: 4096 is how many numbers the matrix has. Divide by the numbers per word.
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
    judge.predicted(std::round(100 * square_of_the_noise()) / 100, 64.0 / 16, "the mean square of the noise");
  });
  judge.claim("predicts the memory of keys and values",
              [&] { judge.predicted(words_of_equal_room(), 64.0 * 64 / (2 * 64), "the number of words"); });
}
