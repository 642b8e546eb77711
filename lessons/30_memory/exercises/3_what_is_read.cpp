// 30.3 what_is_read: sums, corrections, gates, and what they cost
// predict, 10 minutes
//
// A memory starts empty. Predict what key (1, 0) reads after 5 was written there, then 7 at (0, 1), then 1 at (1, 0)
// again: by the sum, and by the delta rule; what it reads by the delta rule after 10 was written at (1, 0), and then
// 0 at (0.6, 0.8); what a key reads whose 8 was followed by three writes at keys at right angles to it, with a gate
// α = 0.5; the mean square of the noise with 65 pairs, random keys of size 16 and values of length 1, by the sum; and
// from how many words on keys and values take as much room as the matrix, d = e = 64.
#include "lessons/grader/answer.hpp"

double by_the_sum() {
  //[ 5, 7 elsewhere, 1
  //: return not_written_yet();
  return 6;  // 5 + 1: what stands at (0, 1) is at right angles
  //]
}

double by_the_delta_rule() {
  //[ the same
  //: return not_written_yet();
  return 1;  // the second write replaces the first
  //]
}

double after_a_neighbour() {
  //[ 10 at (1, 0), 0 at (0.6, 0.8), delta
  //: return not_written_yet();
  return 6.4;  // the second reads 6 and writes −6: S = (10, 0) − 6 (0.6, 0.8) = (6.4, −4.8)
  //]
}

double after_three_gates() {
  //[ 8, then three more words, α = 0.5
  //: return not_written_yet();
  return 8 * 0.5 * 0.5 * 0.5;  // whatever is written, all of S fades
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
  return 32;  // 2 · 64 numbers a word, 64 · 64 in the matrix
  //]
}

// hint: Keys at right angles do not read each other. What is left of the sum, and what does the delta rule find when
//   it writes for the second time at (1, 0)?
// hint: The key (0.6, 0.8) reads 0.6 · 10 = 6 where 0 is wanted, so it writes −6 times itself. What is the first
//   number of (10, 0) − 6 (0.6, 0.8)?
// hint: Each of 64 other pairs adds (k_i · k_j)², on average 1/__. A word has a key and a value: ___ numbers.

// wrong: The sum adds to what stands there: nothing replaces the 5.
// - return 6;
// + return 1;
// wrong: The 7 was written at (0, 1), and (1, 0) · (0, 1) = 0.
// - return 6;
// + return 13;
// wrong: The delta rule writes what is missing: it read 5 and wanted 1, so it wrote −4.
// - return 1;
// + return 6;
// wrong: That is what it wrote. It stands on top of the 5.
// - return 1;
// + return -4;
// wrong: The write of 0 is not nothing: the second key read 6, and took it away.
// - return 6.4;
// + return 10;
// wrong: The second write took −6 times (0.6, 0.8) from S, of which 0.6 · 6 = 3.6 lies along (1, 0).
// - return 6.4;
// + return 4;
// wrong: The gate does not look at keys: it multiplies all of S at each of the three words.
// - return 8 * 0.5 * 0.5 * 0.5;
// + return 8;
// wrong: Three words came after the 8. The gate acts before a write, so not on the 8 at its own word.
// - return 8 * 0.5 * 0.5 * 0.5;
// + return 0.5;
// wrong: A pair does not disturb itself: 64 others do.
// - return 4;
// + return 65.0 / 16;
// wrong: That is the length of the noise. Its square was asked for.
// - return 4;
// + return 2;
// wrong: A word keeps a key and a value, 2 · 64 numbers.
// - return 32;
// + return 64;
// wrong: That is how many numbers the matrix has.
// - return 32;
// + return 4096;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  judge.claim("the sum", [&] { judge.predicted(by_the_sum(), 5 + 1, "the read by the sum"); });
  judge.claim("the delta rule",
              [&] { judge.predicted(by_the_delta_rule(), 1, "the read by the delta rule"); });
  judge.claim("after a neighbour", [&] {
    const double s = 10, found = 0.6 * s;
    judge.predicted(after_a_neighbour(), s - found * 0.6, "the read after a neighbour's write");
  });
  judge.claim("a gate", [&] {
    judge.predicted(after_three_gates(), 8 * 0.5 * 0.5 * 0.5, "the read after three gates");
  });
  judge.claim("noise", [&] {
    judge.predicted(std::round(100 * square_of_the_noise()) / 100, 64.0 / 16, "the square of the noise");
  });
  judge.claim("room", [&] { judge.predicted(words_of_equal_room(), 64.0 * 64 / (2 * 64), "the words"); });
}
