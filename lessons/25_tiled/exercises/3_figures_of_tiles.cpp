// 25.3 figures_of_tiles: Memory and work of tiled attention
// predict, 10 minutes
//
// One attention head has a width of 64, and its numbers are f32, with 4 bytes each. The text has T = 8192
// words. Predict five numbers. You may return formulas. One MiB is 2^20 bytes.
//
// 1. How many MiB does the whole matrix of scores need?
// 2. For backward, tiled attention keeps its output and one log-sum-exp per query, in addition to q, k and v.
// How many MiB are these?
// 3. The tiles have 64 × 64 scores. How many tiles are computed under a causal mask?
// 4. How many tiles are computed with a window in which each query sees itself and the 63 keys before it?
// 5. If T doubles and there is no mask, by which factor does the number of scores grow?
#include "lessons/grader/answer.hpp"

double matrix_mebibytes() {
  //[ the MiB of T × T scores
  //: return not_written_yet();
  return 8192.0 * 8192 * 4 / (1 << 20);  // 256
  //]
}

double kept_mebibytes() {
  //[ the MiB of the output and the log-sum-exps
  //: return not_written_yet();
  return 8192.0 * (64 + 1) * 4 / (1 << 20);  // 65 numbers a query: 2.03
  //]
}

double causal_tiles() {
  //[ the tiles of a causal mask, of 128 × 128 tiles
  //: return not_written_yet();
  return 128 * 129 / 2.0;  // tiles on the diagonal are computed as a whole
  //]
}

double window_tiles() {
  //[ the tiles of a window of 64 keys
  //: return not_written_yet();
  return 2 * 128 - 1;  // a block of queries needs its own tile and the one before
  //]
}

double growth() {
  //[ the factor of the number of scores
  //: return not_written_yet();
  return 4;  // twice the queries, each with twice the keys
  //]
}

// hint: How many numbers do the two kept tensors have? One of them has a row of 64 numbers for each query.
// hint: The text has 8192 / 64 = 128 blocks. Under a causal mask, 1 tile of the first row of tiles is
//   computed, 2 tiles of the second …
// hint: Query 64 is the first query of the second block. Which keys does it see, and in which tiles are they?
//   And query 127?
//
// wrong: You counted the scores, in units of 2^20. Each score has four bytes.
// - return 8192.0 * 8192 * 4 / (1 << 20);  // 256
// + return 64;
// wrong: You computed millions of bytes. A MiB has 2^20 = 1,048,576 bytes.
// - return 8192.0 * 8192 * 4 / (1 << 20);  // 256
// + return 8192.0 * 8192 * 4 / 1e6;
// wrong: One row of scores needs 32 KiB. There is one row for each word.
// - return 8192.0 * 8192 * 4 / (1 << 20);  // 256
// + return 8192.0 * 4 / (1 << 20);
// wrong: You forgot the log-sum-exp: one number per query, in addition to the 64 numbers of the output.
// - return 8192.0 * (64 + 1) * 4 / (1 << 20);  // 65 numbers a query: 2.03
// + return 8192.0 * 64 * 4 / (1 << 20);
// wrong: Backward needs the weights, but computes them again, tile by tile, from q, k and the log-sum-exp.
//   They are not kept.
// - return 8192.0 * (64 + 1) * 4 / (1 << 20);  // 65 numbers a query: 2.03
// + return 8192.0 * 8192 * 4 / (1 << 20) + 8192.0 * 64 * 4 / (1 << 20);
// wrong: You counted exactly half of the tiles, and so only half of those on the diagonal. A tile with at
//   least one visible pair is computed as a whole.
// - return 128 * 129 / 2.0;  // those on the diagonal are cut through and count whole
// + return 128 * 128 / 2.0;
// wrong: You left out the tiles on the diagonal. Each word sees itself, so these tiles are computed.
// - return 128 * 129 / 2.0;  // those on the diagonal are cut through and count whole
// + return 128 * 127 / 2.0;
// wrong: The window is as wide as one tile. But for a query in the middle of its block, the visible keys are
//   in two tiles.
// - return 2 * 128 - 1;
// + return 128;
// wrong: The first block of queries has no tile before it.
// - return 2 * 128 - 1;
// + return 2 * 128;
// wrong: Only the memory grows in proportion to T. Each of the T queries has T scores, and all are computed.
// - return 4;  // twice the queries, each with twice the keys
// + return 2;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Counts the tiles of 64 × 64 with a visible pair, by the pairs at the corners and edges of each tile.
template <class Counts>
double tiles(const Counts& counts) {
  double found = 0;
  for (Size a = 0; a < 128; ++a)
    for (Size b = 0; b < 128; ++b) {
      bool any = false;
      for (Size i = 64 * a; i < 64 * (a + 1) && !any; ++i)
        for (const Size j : {64 * b, 64 * b + 63}) any = any || counts(i, j);
      found += any;
    }
  return found;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("knows the memory of the whole matrix",
              [&] { judge.predicted(matrix_mebibytes(), 256, "the MiB of the scores"); });
  judge.claim("knows the memory that tiled attention keeps", [&] {
    judge.predicted(kept_mebibytes(), (8192 * 256.0 + 8192 * 4.0) / 1048576, "the MiB kept for backward");
  });
  judge.claim("knows the number of tiles under a causal mask", [&] {
    judge.predicted(causal_tiles(), tiles([](Size i, Size j) { return j <= i; }),
                    "the tiles of a causal mask", 1e-3);
  });
  judge.claim("knows the number of tiles with a window", [&] {
    judge.predicted(window_tiles(), tiles([](Size i, Size j) { return j <= i && i - j < 64; }),
                    "the tiles of a window", 1e-3);
  });
  judge.claim("knows the growth of the number of scores",
              [&] { judge.predicted(growth(), 4, "the factor"); });
}
