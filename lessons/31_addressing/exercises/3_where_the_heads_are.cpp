// 31.3 where_the_heads_are: Head positions, blur and slots
// predict, 10 minutes
//
// Predict six numbers:
//
// 1. the slot of a head that was on slot 6 of 8 and moved three slots on;
// 2. the content weight of the best of five slots, if its cosine with the key is 1, the cosine of the other four is
//   0, and β = ln 6;
// 3. the number that a head reads if half of its weight is on a slot with 10 and half on a slot with 6;
// 4. the number in a slot that contained 8, after a write by a head with weight 0.5 on this slot, with e = 1 and
//   a = 6;
// 5. the weight on the right slot after two steps with the shift (0, 0.2, 0.8) and γ = 1;
// 6. the smallest number of slots with which a machine can copy 20 letters, if it writes one letter to each slot, and
//   nothing at "end" and "say".
#include "lessons/grader/answer.hpp"

double slot_after_three() {
  //[ from slot 6 of 8, three on
  //: return not_written_yet();
  return 1;  // 7, 0, 1: slots count from 0, and the memory is a ring
  //]
}

double weight_by_content() {
  //[ cosines 1, 0, 0, 0, 0, β = ln 6
  //: return not_written_yet();
  return 0.6;  // 6 / (6 + 4 · 1)
  //]
}

double read_between_two() {
  //[ half on 10, half on 6
  //: return not_written_yet();
  return 8;  // the weighted sum, as in attention
  //]
}

double after_a_write() {
  //[ 8, weight 0.5, e = 1, a = 6
  //: return not_written_yet();
  return 7;  // 8 (1 − 0.5 · 1) + 0.5 · 6
  //]
}

double after_two_steps() {
  //[ shift (0, 0.2, 0.8), γ = 1
  //: return not_written_yet();
  return 0.64;  // 0.8 · 0.8
  //]
}

double slots_for_twenty() {
  //[ one letter a slot
  //: return not_written_yet();
  return 20;  // on a ring, any slot may be the first
  //]
}

// hint: The memory is a ring: slot 0 follows slot 7. And softmax of (ln 6, 0, 0, 0, 0) is 6, 1, 1, 1, 1 divided by
//   their sum.
// hint: A write with weight w leaves 8 (1 − w e) and adds w a. What are the two parts for w = 0.5?
// hint: Each step leaves 0.8 of the right weight. If a letter is written to a slot in use, the letter in it is lost.
//   How many letters must be stored?
//
// wrong: There is no slot 9. The memory is a ring: slot 0 follows slot 7.
// - return 1;
// + return 9;
// wrong: From 6 to 7 is the first step, to 0 the second, and to 1 the third.
// - return 1;
// + return 2;
// wrong: That is e / (e + 4), without β. β multiplies the cosine before the exponential.
// - return 0.6;
// + return 0.40;
// wrong: The other four slots have cosine 0, and e⁰ = 1, so they get weight too.
// - return 0.6;
// + return 1;
// wrong: You added the two slots. A read multiplies each slot by its weight.
// - return 8;
// + return 16;
// wrong: A write acts with the head's weight: it erases half, and it adds half of 6.
// - return 7;
// + return 6;
// wrong: The write erases as well. 8 + 3 would be the result with e = 0.
// - return 7;
// + return 11;
// wrong: The weights of the two steps multiply: 0.8 of 0.8.
// - return 0.64;
// + return 0.8;
// wrong: That would be the weight after one step of 0.8 and one of 0.2.
// - return 0.64;
// + return 0.16;
// wrong: The memory is a ring, so one slot for each letter is enough, wherever the first letter is.
// - return 20;
// + return 21;
// wrong: At "end" and "say" the machine writes nothing, so one slot for each letter is enough.
// - return 20;
// + return 41;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  judge.claim("predicts a head's slot",
              [&] { judge.predicted(slot_after_three(), (6 + 3) % 8, "the slot"); });
  judge.claim("predicts a content weight", [&] {
    judge.predicted(weight_by_content(), std::exp(std::log(6)) / (std::exp(std::log(6)) + 4),
                    "the best slot's weight");
  });
  judge.claim("predicts a read",
              [&] { judge.predicted(read_between_two(), 0.5 * 10 + 0.5 * 6, "the number read"); });
  judge.claim("predicts a write", [&] {
    judge.predicted(after_a_write(), 8 * (1 - 0.5 * 1) + 0.5 * 6, "the number in the slot");
  });
  judge.claim("predicts the blur",
              [&] { judge.predicted(after_two_steps(), 0.8 * 0.8, "the weight on the right slot"); });
  judge.claim("predicts the number of slots", [&] { judge.predicted(slots_for_twenty(), 20, "the slots"); });
}
