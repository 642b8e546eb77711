// 34.1 chunks: who sends what in a ring
// implement, 15 minutes
//
// R ranks stand in a ring; each has R chunks of numbers, and sends one chunk a step to its right neighbour. In the
// first R − 1 steps what comes is added, in the next R − 1 it replaces: then all ranks have the sums. In the lesson
// rank r begins with chunk r, and is the first to have all of chunk r + 1. Turn it: rank r is to begin so that it has
// all of its own chunk r after R − 1 steps. Return which chunk a rank sends in `step`, 0 … 2R − 3, and which it
// receives.
#include "lessons/grader/answer.hpp"

struct Move {
  int send = 0, receive = 0;  // chunks, 0 … ranks − 1
  bool add = false;           // what comes is added
};

Move move_of(int rank, int ranks, int step) {
  //[ the chunk to send, the chunk that comes, and whether it is added
  //: static_cast<void>(rank), static_cast<void>(ranks), static_cast<void>(step);
  //: return not_written_yet();
  const auto wrap = [&](int chunk) { return (chunk % ranks + ranks) % ranks; };  // % alone keeps a minus
  const int first = rank - 1 - step;  // one lower than in the lesson, in both rounds
  return {wrap(first), wrap(first - 1), step < ranks - 1};
  //]
}

// hint: Which chunk comes to rank r in step R − 2, the last in which sums grow? It is to be r.
// hint: In each step you receive the chunk below the one that you send. In the lesson's first round rank r sends
//   r − step. By how much is everything moved?
// hint: The second round goes on where the first ends: in step R − 1 rank r sends r. Is rank − 1 − step the same
//   chunk, mod R? In C++ −1 % 3 is −1.
//
// wrong: That is the lesson's ring: rank r ends with chunk r + 1.
// - const int first = rank - 1 - step;
// + const int first = rank - step;
// wrong: −1 % 3 is −1 in C++, and there is no such chunk.
// - const auto wrap = [&](int chunk) { return (chunk % ranks + ranks) % ranks; };
// + const auto wrap = [&](int chunk) { return chunk % ranks; };
// wrong: Sums still grow in step R − 1: one chunk too many is added.
// - return {wrap(first), wrap(first - 1), step < ranks - 1};
// + return {wrap(first), wrap(first - 1), step <= ranks - 1};
// wrong: What comes from the left is what the left neighbour sends: one chunk lower than yours, not higher.
// - return {wrap(first), wrap(first - 1), step < ranks - 1};
// + return {wrap(first), wrap(first + 1), step < ranks - 1};
// wrong: The chunks go round the wrong way: the rank that gets a chunk has to send it on in the next step.
// - const int first = rank - 1 - step;
// + const int first = rank - 1 + step;
// wrong: The first round is turned, the second is the lesson's: it has to begin with chunk r, which you have whole.
// - const int first = rank - 1 - step;
// + const int first = rank - (step < ranks - 1 ? 1 : 0) - step;
// wrong: That is a ring the other way. You send to the right: what comes from the left is one chunk lower than yours,
//   and you send it on in the next step.
// - const int first = rank - 1 - step;
// - return {wrap(first), wrap(first - 1), step < ranks - 1};
// + const int first = rank + 1 + step;
// + return {wrap(first), wrap(first + 1), step < ranks - 1};
// wrong: R added once is too little: in the second round chunks fall below −R. Take % first, add R, and take % again.
// - const auto wrap = [&](int chunk) { return (chunk % ranks + ranks) % ranks; };
// + const auto wrap = [&](int chunk) { return (chunk + ranks) % ranks; };

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// All ranks at once, one number a chunk. Looks at chunks and partners, then at what the ranks have after each round.
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
      const Move& one = moves.back();
      for (const int chunk : {one.send, one.receive})
        judge.that(chunk >= 0 && chunk < ranks,
                   fmt::format("of {} ranks, rank {} moves chunk {} in step {}: there is none", ranks, rank,
                               chunk, step),
                   {static_cast<double>(chunk)});
    }
    const auto before = have;
    for (std::size_t r = 0; r < size; ++r) {
      const Move &mine = moves[r], &left = moves[(r + size - 1) % size];
      judge.that(
          mine.receive == left.send,
          fmt::format("of {} ranks in step {}, rank {} sends chunk {} to rank {}, which expects chunk {}",
                      ranks, step, (r + size - 1) % size, left.send, r, mine.receive),
          {static_cast<double>(left.send), static_cast<double>(mine.receive)});
      const auto c = static_cast<std::size_t>(mine.receive);
      const double came = before[(r + size - 1) % size][c];
      have[r][c] = mine.add ? have[r][c] + came : came;
    }
    if (step == ranks - 2)
      for (std::size_t r = 0; r < size; ++r)
        judge.same(have[r][r], sums[r],
                   fmt::format("after {} steps of {} ranks, chunk {} on rank {}", step + 1, ranks, r, r));
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
