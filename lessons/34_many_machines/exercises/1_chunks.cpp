// 34.1 chunks: Order of the chunks in a ring all-reduce
// implement, 15 minutes
//
// R ranks form a ring and compute an all-reduce. Each rank cuts its numbers into R chunks. In each step, it sends one
// chunk to its right neighbour and receives one from its left neighbour. In the first R − 1 steps (the reduce-scatter),
// it adds the received chunk to its copy of the same chunk. In the next R − 1 steps (the all-gather), the received
// chunk replaces that copy. Then all ranks have all sums. Steps are numbered 0 to 2R − 3. Chunk numbers are mod R.
//
// In the lesson, rank r sends chunk r in step 0, and after R − 1 steps it has the sum of chunk r + 1. Change the
// order so that after R − 1 steps, rank r has the sum of chunk r.
//
// For one rank and one step, return the number of the chunk to send, the number of the chunk to receive (both from 0 to
// R − 1), and whether to add the received chunk.
#include "lessons/grader/answer.hpp"

struct Move {
  int send = 0, receive = 0;  // chunk numbers, 0 … ranks − 1
  bool add = false;           // true: add the received chunk; false: replace
};

Move move_of(int rank, int ranks, int step) {
  //[ the chunk to send, the chunk that comes, and whether it is added
  //: static_cast<void>(rank), static_cast<void>(ranks), static_cast<void>(step);
  //: return not_written_yet();
  const auto wrap = [&](int chunk) { return (chunk % ranks + ranks) % ranks; };  // % can be negative in C++
  const int sent = rank - 1 - step;  // one lower than in the lesson, in all steps
  return {wrap(sent), wrap(sent - 1), step < ranks - 1};
  //]
}

// hint: Which chunk does rank r receive in step R − 2, the last step that adds? It must be chunk r.
// hint: In each step, a rank receives the chunk below the one that it sends. In the lesson's reduce-scatter,
//   rank r sends chunk r − step. By how much must both numbers change?
// hint: The all-gather continues where the reduce-scatter ends: in step R − 1, rank r sends chunk r. Is rank − 1 − step
//   the same chunk, mod R? In C++, −1 % 3 is −1.
//
// wrong: That is the lesson's ring, in which rank r ends with the sum of chunk r + 1.
// - const int sent = rank - 1 - step;
// + const int sent = rank - step;
// wrong: In C++, −1 % 3 is −1, and there is no chunk −1.
// - const auto wrap = [&](int chunk) { return (chunk % ranks + ranks) % ranks; };
// + const auto wrap = [&](int chunk) { return chunk % ranks; };
// wrong: You also add in step R − 1. That is one step too many.
// - return {wrap(sent), wrap(sent - 1), step < ranks - 1};
// + return {wrap(sent), wrap(sent - 1), step <= ranks - 1};
// wrong: A rank receives the chunk that its left neighbour sends. The number of that chunk is one lower than that of
//   the chunk that the rank itself sends, not one higher.
// - return {wrap(sent), wrap(sent - 1), step < ranks - 1};
// + return {wrap(sent), wrap(sent + 1), step < ranks - 1};
// wrong: The chunk number must fall by one per step: in each step, a rank sends the chunk that it received in the step
//   before.
// - const int sent = rank - 1 - step;
// + const int sent = rank - 1 + step;
// wrong: You changed the reduce-scatter, but the all-gather is still the lesson's. Rank r must start the all-gather
//   with chunk r, whose sum is complete.
// - const int sent = rank - 1 - step;
// + const int sent = rank - (step < ranks - 1 ? 1 : 0) - step;
// wrong: That ring runs in the opposite direction. A rank sends to the right, so it receives from the left. The number
//   of the received chunk is one lower than that of the chunk that it sends in the same step.
// - const int sent = rank - 1 - step;
// - return {wrap(sent), wrap(sent - 1), step < ranks - 1};
// + const int sent = rank + 1 + step;
// + return {wrap(sent), wrap(sent + 1), step < ranks - 1};
// wrong: Adding R once is not enough: in the all-gather, the numbers fall below −R. Take % first, add R, and take %
//   again.
// - const auto wrap = [&](int chunk) { return (chunk % ranks + ranks) % ranks; };
// + const auto wrap = [&](int chunk) { return (chunk + ranks) % ranks; };

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// Simulates all ranks with one number per chunk. Checks that each chunk exists and that neighbours agree on it, and
/// checks the numbers after the reduce-scatter and after the all-gather.
void play(Judge& judge, int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::vector<double>> have(size, std::vector<double>(size));
  std::vector<double> sums(size);
  for (auto& row : have)
    for (std::size_t c = 0; c < size; ++c)
      sums[c] += row[c] = static_cast<double>(judge.random().between(1, 99));
  for (int step = 0; step < 2 * ranks - 2; ++step) {
    std::vector<Move> moves;
    for (int rank = 0; rank < ranks; ++rank) {
      moves.push_back(move_of(rank, ranks, step));
      const Move& move = moves.back();
      for (const int chunk : {move.send, move.receive})
        judge.that(chunk >= 0 && chunk < ranks,
                   fmt::format("with {} ranks, rank {} moves chunk {} in step {}, but there is no such chunk",
                               ranks, rank, chunk, step),
                   {static_cast<double>(chunk)});
    }
    const auto before = have;
    for (std::size_t r = 0; r < size; ++r) {
      const Move &mine = moves[r], &left = moves[(r + size - 1) % size];
      judge.that(
          mine.receive == left.send,
          fmt::format("with {} ranks in step {}, rank {} sends chunk {} to rank {}, which expects chunk {}",
                      ranks, step, (r + size - 1) % size, left.send, r, mine.receive),
          {static_cast<double>(left.send), static_cast<double>(mine.receive)});
      const auto c = static_cast<std::size_t>(mine.receive);
      const double received = before[(r + size - 1) % size][c];
      have[r][c] = mine.add ? have[r][c] + received : received;
    }
    if (step == ranks - 2)
      for (std::size_t r = 0; r < size; ++r)
        judge.same(have[r][r], sums[r],
                   fmt::format("after {} steps with {} ranks, chunk {} on rank {}", step + 1, ranks, r, r));
  }
  for (std::size_t r = 0; r < size; ++r) judge.same(have[r], sums, fmt::format("all sums on rank {}", r));
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("adds up two ranks", [&] { play(judge, 2); });
  judge.claim("adds up three ranks", [&] { play(judge, 3); });
  judge.claim("adds up any number of ranks", [&] {
    for (const int ranks : {4, 5, 8, 13}) play(judge, ranks);
  });
}
