// 34.3 what_it_costs: before you rent a thousand machines
// predict, 15 minutes
//
// A ring takes t(R) = 2 (R − 1) (α + bytes/R · β), with α = 20 µs a message and β = 0.1 ns a byte (10 GB/s). A model
// has 25 million weights in f32, 100 MB of gradients. One machine needs 120 ms for a step with a batch of 64: 40 ms
// forward, 80 ms backward. Say what comes out, to 0.5 %:
//
// - ring_ms: how long a ring of 101 ranks takes, in ms.
// - after: how many times as fast 101 ranks are that have a batch of 64 each and send after backward.
// - during: the same, where the ring runs while backward goes on (it can hide all of the ring but what is longer than
//   backward).
// - shared: how many times as fast a step is where 101 ranks share one batch of 64 (forward and backward take 1/101 of
//   the time), and send during backward.
#include "lessons/grader/answer.hpp"

struct Prediction {
  double ring_ms, after, during, shared;
};

Prediction prediction() {
  //[ four numbers
  //: return not_written_yet();
  const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);  // in ms: α = 0.02, β = 1e-7
  const double after = 101 * 120 / (120 + ring);
  const double during = 101 * 120 / (40 + std::max(80.0, ring));          // the ring is shorter: hidden
  const double shared = 120 / (40.0 / 101 + std::max(80.0 / 101, ring));  // nearly all is the ring
  return {ring, after, during, shared};
  //]
}

// hint: In milliseconds: α = 0.02, β · bytes = 10. How many messages, and how many bytes has each?
// hint: 101 ranks with a batch each do 101 times the work in the time of one step: 101 · 120 / (that time).
// hint: With one batch for all, a step's forward takes 40/101 ms. Is there enough of backward left to hide the ring?
//
// wrong: R − 1 is the half of it: the sums have to go round once more.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 100 * (0.02 + 1e8 / 101 * 1e-7);
// wrong: A message holds a chunk, 1/R of the bytes, not all of them.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 2 * 100 * (0.02 + 1e8 * 1e-7);
// wrong: The messages' own time is missing: 200 times α.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 2 * 100 * (1e8 / 101 * 1e-7);
// wrong: A number in f32 has four bytes: 25 million are 100 MB.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 2 * 100 * (0.02 + 25e6 / 101 * 1e-7);
// wrong: The bytes take next to nothing: 0.1 ns are 1e-10 s, but 1e-7 ms.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-10);
// wrong: That is the speed of one step: 101 ranks do 101 times as much in it.
// - const double after = 101 * 120 / (120 + ring);
// + const double after = 120 / (120 + ring);
// wrong: Sent during backward the ring costs nothing here: it is shorter than backward.
// - const double during = 101 * 120 / (40 + std::max(80.0, ring));
// + const double during = 101 * 120 / (120 + ring);
// wrong: A ring that is longer than backward is not hidden: the step has to wait for the rest of it.
// - const double shared = 120 / (40.0 / 101 + std::max(80.0 / 101, ring));
// + const double shared = 101;
// wrong: The ring runs while backward does: only what is longer than backward is waited for.
// - const double shared = 120 / (40.0 / 101 + std::max(80.0 / 101, ring));
// + const double shared = 120 / (120.0 / 101 + ring);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// A ring played message by message: each of its steps waits for the one before.
double played(int ranks, double bytes) {
  double ms = 0;
  for (int round = 0; round < 2; ++round)
    for (int step = 1; step < ranks; ++step) ms += 20e-3 + bytes / ranks * 0.1e-6;
  return ms;
}

}  // namespace

void judge(Judge& judge) {
  Prediction mine{};
  const double ring = played(101, 100e6);
  judge.claim("knows what a ring takes", [&] {
    mine = prediction();
    judge.predicted(mine.ring_ms, ring, "the ring, in ms");
  });
  judge.claim("knows what talk costs after backward",
              [&] { judge.predicted(mine.after, 12120 / (120 + ring), "times as fast, after backward"); });
  judge.claim("knows what backward hides",
              [&] { judge.predicted(mine.during, 101, "times as fast, during backward"); });
  judge.claim("knows what one batch can give", [&] {
    judge.predicted(mine.shared, 120 / (40.0 / 101 + ring), "times as fast, with one batch for all");
  });
}
