// 34.3 what_it_costs: Predicting the speed-up
// predict, 15 minutes
//
// A ring takes t(R) = 2 (R − 1) (α + bytes/R · β), with α = 20 µs per message and β = 0.1 ns per byte (10 GB/s). A
// model has 25 million weights in f32, so its gradients have 100 MB. One machine needs 120 ms for a step with a batch
// of 64: 40 ms for forward and 80 ms for backward. Predict four numbers, to 0.5 %:
//
// - ring_ms: the time of a ring with 101 ranks, in ms.
// - after: the speed-up of 101 ranks over one (strings per second), if each rank has a batch of 64 strings and sends
//   after backward.
// - during: the same speed-up, if the ring runs while backward runs. Only the part of the ring that is longer than
//   backward adds to the time of the step.
// - shared: the speed-up of one step, if 101 ranks share one batch of 64 and send during backward. Then forward and
//   backward take 1/101 of their time.
#include "lessons/grader/answer.hpp"

struct Prediction {
  double ring_ms, after, during, shared;
};

Prediction prediction() {
  //[ four numbers
  //: return not_written_yet();
  const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);  // in ms: α = 0.02, β = 1e-7
  const double after = 101 * 120 / (120 + ring);
  const double during = 101 * 120 / (40 + std::max(80.0, ring));          // the ring is shorter
  const double shared = 120 / (40.0 / 101 + std::max(80.0 / 101, ring));  // mostly the ring
  return {ring, after, during, shared};
  //]
}

// hint: In milliseconds, α = 0.02 and β · bytes = 10. How many messages are there, and how many bytes does each have?
// hint: 101 ranks with a batch each do 101 times the work in the time of one step: 101 · 120 / (that time).
// hint: With one batch for all, forward takes 40/101 ms. Is backward still longer than the ring?
//
// wrong: R − 1 messages are only one half of the ring. The sums must go round once more.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 100 * (0.02 + 1e8 / 101 * 1e-7);
// wrong: A message contains one chunk, 1/R of the bytes, not all of them.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 2 * 100 * (0.02 + 1e8 * 1e-7);
// wrong: The latency is missing: 200 times α.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 2 * 100 * (1e8 / 101 * 1e-7);
// wrong: A number in f32 has four bytes, so 25 million numbers have 100 MB.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 2 * 100 * (0.02 + 25e6 / 101 * 1e-7);
// wrong: The unit of β is wrong: 0.1 ns is 1e-10 s, but 1e-7 ms.
// - const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-7);
// + const double ring = 2 * 100 * (0.02 + 1e8 / 101 * 1e-10);
// wrong: You compared the time of one step. 101 ranks do 101 times as much work in it.
// - const double after = 101 * 120 / (120 + ring);
// + const double after = 120 / (120 + ring);
// wrong: You added the ring to backward. Here the ring runs during backward and is shorter, so it adds no time.
// - const double during = 101 * 120 / (40 + std::max(80.0, ring));
// + const double during = 101 * 120 / (120 + ring);
// wrong: A ring that is longer than backward is not hidden. The step must wait for the rest of the ring.
// - const double shared = 120 / (40.0 / 101 + std::max(80.0 / 101, ring));
// + const double shared = 101;
// wrong: The ring runs during backward, so only the part that is longer than backward adds to the time.
// - const double shared = 120 / (40.0 / 101 + std::max(80.0 / 101, ring));
// + const double shared = 120 / (120.0 / 101 + ring);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Simulates a ring message by message: each of its steps waits for the previous step.
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
  judge.claim("predicts the time of a ring", [&] {
    mine = prediction();
    judge.predicted(mine.ring_ms, ring, "the ring, in ms");
  });
  judge.claim("predicts the speed-up if ranks send after backward",
              [&] { judge.predicted(mine.after, 12120 / (120 + ring), "the speed-up, after backward"); });
  judge.claim("predicts the speed-up if ranks send during backward",
              [&] { judge.predicted(mine.during, 101, "the speed-up, during backward"); });
  judge.claim("predicts the speed-up with one batch for all", [&] {
    judge.predicted(mine.shared, 120 / (40.0 / 101 + ring), "the speed-up, with one batch for all");
  });
}
