// 18.3 weights_of_heads: what heads cost
// predict, 10 minutes
//
// A MultiHeadAttention of width 64, with biases, has the matrices W^Q, W^K, W^V and W^O. Predict how many
// numbers it has to learn, biases included: with 8 heads; with one; with 8 heads of queries and 2 of keys and
// values; and with 8 heads of which each compares in d_k = 16 and brings home d_v = 16 numbers. The judge
// builds the layers and counts.
#include "lessons/grader/answer.hpp"

double with_eight_heads() {
  //[ width 64, 8 heads
  //: return not_written_yet();
  return 4 * (64 * 64 + 64);  // W^Q, W^K, W^V: all heads' rows in one matrix; and W^O
  //]
}

double with_one_head() {
  //[ width 64, 1 head
  //: return not_written_yet();
  return 4 * 64 * 65;  // the same: H times width / H is the width
  //]
}

double with_two_key_heads() {
  //[ width 64, 8 heads of queries, 2 of keys and values
  //: return not_written_yet();
  return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);  // W^Q and W^O; W^K and W^V make 2 heads of 8 numbers
  //]
}

double with_wide_heads() {
  //[ width 64, 8 heads, d_k = d_v = 16
  //: return not_written_yet();
  return 3 * (128 * 64 + 128) + (64 * 128 + 64);  // 8 · 16 = 128; W^O comes back to 64
  //]
}

// hint: A Linear from a to b numbers has a · b weights and b biases. From what to what does each of the four
//   go?
// hint: With head width d, W^Q goes from 64 to H · d, W^K and W^V to G · d, and W^O from H · d to __.
//
// wrong: You counted a matrix of the full width for each head. The heads share the width: each has 64 / 8 = 8
//   rows.
// - return 4 * (64 * 64 + 64);
// + return 8 * 4 * (64 * 64 + 64);
// wrong: The biases are missing: each of the four Linears adds one number for each that it makes.
// - return 4 * (64 * 64 + 64);
// + return 4 * 64 * 64;
// wrong: You left out W^O, which brings the heads' results back to the layer's width and mixes them.
// - return 4 * (64 * 64 + 64);
// + return 3 * (64 * 64 + 64);
// wrong: You divided by the number of heads. One head has all 64 rows of each matrix, eight have 8 rows each:
//   the number of weights does not depend on H.
// - return 4 * 64 * 65;
// + return 4 * 64 * 65 / 8;
// wrong: You took one head for eight times as large as all eight together. At equal width the number of
//   weights does not depend on H.
// - return 4 * 64 * 65;
// + return 8 * 4 * 64 * 65;
// wrong: You shrank the queries as well. There are still 8 heads of queries, and W^O still joins 8 results.
// - return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);
// + return (64 * 64 + 64) + 3 * (16 * 64 + 16);
// wrong: That is the layer without grouping. Two heads of keys make 2 · 8 numbers of each token, not 64.
// - return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);
// + return 4 * (64 * 64 + 64);
// wrong: You divided the key heads' width among them: 64 / 2 = 32 each. A key meets the queries of its group
//   in their width, and that is 64 / 8.
// - return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);
// + return 2 * (64 * 64 + 64) + 2 * (64 * 64 / 2 + 32);
// wrong: W^K and W^V make 16 numbers each here, so they have 16 biases each and not 64.
// - return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);
// + return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 64);
// wrong: W^O goes from 128 numbers back to 64, so it has 64 biases and not 128.
// - return 3 * (128 * 64 + 128) + (64 * 128 + 64);
// + return 4 * (128 * 64 + 128) + 0;
// wrong: That is the layer with d_k = 64 / 8. Here a head's width is given, 16, and 8 · 16 is 128.
// - return 3 * (128 * 64 + 128) + (64 * 128 + 64);
// + return 4 * (64 * 64 + 64);

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/attention/multi_head.hpp"

namespace {

double counted(const MultiHeadOptions& options) {
  const MultiHeadAttention layer(options);
  Size count = 0;
  for (const Tensor& weight : layer.parameters()) count += weight.shape().count();
  return static_cast<double>(count);
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kExactly = 1e-9;
  judge.claim("foretells the weights of eight heads", [&] {
    judge.predicted(with_eight_heads(), counted({.width = 64, .heads = 8}), "weights with 8 heads", kExactly);
  });
  judge.claim("foretells the weights of one head", [&] {
    judge.predicted(with_one_head(), counted({.width = 64, .heads = 1}), "weights with one head", kExactly);
  });
  judge.claim("foretells what sharing keys saves", [&] {
    judge.predicted(with_two_key_heads(), counted({.width = 64, .heads = 8, .key_heads = 2}),
                    "weights with 2 heads of keys and values", kExactly);
  });
  judge.claim("foretells the weights of wider heads", [&] {
    judge.predicted(with_wide_heads(), counted({.width = 64, .heads = 8, .head_width = 16}),
                    "weights with 8 heads of 16", kExactly);
  });
}
