// 25.3 figures_of_tiles: what tiles hold and save, before you measure it
// predict, 10 minutes
//
// Five figures of one head of width 64 with f32 numbers, 4 bytes each. A text has T = 8192 words. Predict the
// MiB (2^20 bytes) of its whole matrix of scores; the MiB of what tiles keep for backward beyond the inputs
// q, k and v, which is the output and one log-sum-exp a query; how many tiles of 64 × 64 scores a causal mask
// leaves; how many of these tiles a window leaves by which each query sees itself and the 63 keys before it;
// and by what factor the number of scores grows if T doubles and all pairs count. Formulas are welcome.
#include "lessons/grader/answer.hpp"

double matrix_mebibytes() {
  //[ of T × T scores
  //: return not_written_yet();
  return 8192.0 * 8192 * 4 / (1 << 20);  // 256
  //]
}

double kept_mebibytes() {
  //[ output and log-sum-exp
  //: return not_written_yet();
  return 8192.0 * (64 + 1) * 4 / (1 << 20);  // 65 numbers a query: 2.03
  //]
}

double causal_tiles() {
  //[ of 128 × 128 tiles
  //: return not_written_yet();
  return 128 * 129 / 2.0;  // those on the diagonal are cut through and count whole
  //]
}

double window_tiles() {
  //[ of a window of 64 keys
  //: return not_written_yet();
  return 2 * 128 - 1;  // a block reaches into its own tile and the one before; the first has none
  //]
}

double growth() {
  //[ of the number of scores
  //: return not_written_yet();
  return 4;  // twice the queries, each with twice the keys
  //]
}

// hint: How many numbers has each of the two tensors that are kept? One has a row of 64 for each query.
// hint: Along the text there are 8192 / 64 = 128 blocks. A causal mask leaves 1 tile of the first row, 2 of
//   the second …
// hint: Query 64 is the first of the second block. Which keys does it see, from where to where? And query
//   127?
//
// wrong: That is how many times 2^20 scores there are, and not their bytes: four for each.
// - return 8192.0 * 8192 * 4 / (1 << 20);  // 256
// + return 64;
// wrong: Those are millions of bytes. A MiB has 2^20 = 1,048,576.
// - return 8192.0 * 8192 * 4 / (1 << 20);  // 256
// + return 8192.0 * 8192 * 4 / 1e6;
// wrong: One row of scores has 32 KiB. There are as many rows as words.
// - return 8192.0 * 8192 * 4 / (1 << 20);  // 256
// + return 8192.0 * 4 / (1 << 20);
// wrong: You forgot the log-sum-exp: one number a query beyond the 64 of the output.
// - return 8192.0 * (64 + 1) * 4 / (1 << 20);  // 65 numbers a query: 2.03
// + return 8192.0 * 64 * 4 / (1 << 20);
// wrong: Backward needs the weights, but it makes them again, tile by tile, from q, k and the log-sum-exp.
//   They are not kept.
// - return 8192.0 * (64 + 1) * 4 / (1 << 20);  // 65 numbers a query: 2.03
// + return 8192.0 * 8192 * 4 / (1 << 20) + 8192.0 * 64 * 4 / (1 << 20);
// wrong: Exactly half of the tiles would be right if those on the diagonal were halved too. They are cut
//   through, and a tile of which one pair counts is computed.
// - return 128 * 129 / 2.0;  // those on the diagonal are cut through and count whole
// + return 128 * 128 / 2.0;
// wrong: You left the tiles on the diagonal out. Each word sees itself: they count.
// - return 128 * 129 / 2.0;  // those on the diagonal are cut through and count whole
// + return 128 * 127 / 2.0;
// wrong: As many keys as a tile is wide, but a query in the middle of its block sees keys in two tiles.
// - return 2 * 128 - 1;
// + return 128;
// wrong: The first block of queries has no tile before it.
// - return 2 * 128 - 1;
// + return 2 * 128;
// wrong: Memory may grow as T. The scores are all computed, T of them for each of T queries.
// - return 4;  // twice the queries, each with twice the keys
// + return 2;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Tiles of 64 × 64 in which any pair counts, pair by pair at the tiles' corners and edges.
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
  judge.claim("knows the bytes of the whole matrix",
              [&] { judge.predicted(matrix_mebibytes(), 256, "the MiB of the scores"); });
  judge.claim("knows what is kept", [&] {
    judge.predicted(kept_mebibytes(), (8192 * 256.0 + 8192 * 4.0) / 1048576, "the MiB that are kept");
  });
  judge.claim("knows what a causal mask leaves", [&] {
    judge.predicted(causal_tiles(), tiles([](Size i, Size j) { return j <= i; }),
                    "the tiles of a causal mask", 1e-3);
  });
  judge.claim("knows what a window leaves", [&] {
    judge.predicted(window_tiles(), tiles([](Size i, Size j) { return j <= i && i - j < 64; }),
                    "the tiles of a window", 1e-3);
  });
  judge.claim("knows how the work grows", [&] { judge.predicted(growth(), 4, "the factor"); });
}
