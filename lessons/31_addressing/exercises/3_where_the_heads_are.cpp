// 31.3 where_the_heads_are: places, blur, and what a memory holds
// predict, 10 minutes
//
// Predict: on which slot of 8 a head is that stood on slot 6 and went three slots on; how much weight the best slot has
// by content, where of five slots one has the cosine 1 with the key and four have 0, and β = ln 6; what is read where a
// head stands half on a slot with 10 and half on one with 6; what stands in a slot with 8 after a head with weight 0.5
// there has erased with e = 1 and added 6; how much weight is on the right slot after two steps with the shift
// (0, 0.2, 0.8), γ = 1; and with how many slots at least a head can copy 20 letters that writes one letter a slot, and
// nothing else: not "end", nor "say".
#include "lessons/grader/answer.hpp"

double slot_after_three() {
  //[ from slot 6 of 8, three on
  //: return not_written_yet();
  return 1;  // 7, 0, 1: slots count from 0, and the ends are joined
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
  return 8;  // an attention: the weighted sum
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
  return 20;  // on a ring any slot may be the first
  //]
}

// hint: The ends are joined: slot 7 is followed by slot 0. And softmax of (ln 6, 0, 0, 0, 0) is 6, 1, 1, 1, 1 over their
//   sum.
// hint: A write with weight w leaves 8 (1 − w e) and adds w a. What are both for w = 0.5?
// hint: Each step leaves 0.8 of what was right. A slot that is written twice no longer knows the first letter: ___ slots.
//
// wrong: There is no slot 9: the ends are joined, and slot 7 is followed by slot 0.
// - return 1;
// + return 9;
// wrong: Slots count from 0: from 6 to 7 is the first step.
// - return 1;
// + return 2;
// wrong: Without β it would be e / (e + 4). β multiplies the cosine before the exponential.
// - return 0.6;
// + return 0.40;
// wrong: The four others have cosine 0, and e⁰ = 1: they get a share, too.
// - return 0.6;
// + return 1;
// wrong: A read is no sum of slots: each counts with its weight.
// - return 8;
// + return 16;
// wrong: The write acts with the head's weight: half is erased, and half of 6 is added.
// - return 7;
// + return 6;
// wrong: It is erased as well: 8 + 3 would be a write with e = 0.
// - return 7;
// + return 11;
// wrong: Shares of shares multiply: 0.8 of 0.8.
// - return 0.64;
// + return 0.8;
// wrong: That would be the share after one step of 0.8 and one of 0.2.
// - return 0.64;
// + return 0.16;
// wrong: The memory is a ring: a slot for each letter is enough, wherever the first one stands.
// - return 20;
// + return 21;
// wrong: While it says the letters it only reads: a slot for each letter is enough.
// - return 20;
// + return 41;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  judge.claim("a walk", [&] { judge.predicted(slot_after_three(), (6 + 3) % 8, "the slot"); });
  judge.claim("content", [&] {
    judge.predicted(weight_by_content(), std::exp(std::log(6)) / (std::exp(std::log(6)) + 4),
                    "the best slot's weight");
  });
  judge.claim("a read", [&] { judge.predicted(read_between_two(), 0.5 * 10 + 0.5 * 6, "the read"); });
  judge.claim("a write",
              [&] { judge.predicted(after_a_write(), 8 * (1 - 0.5 * 1) + 0.5 * 6, "what stands there"); });
  judge.claim("blur", [&] { judge.predicted(after_two_steps(), 0.8 * 0.8, "the weight on the right slot"); });
  judge.claim("room", [&] { judge.predicted(slots_for_twenty(), 20, "the slots"); });
}
