// 18.3 weights_of_heads: Count the weights of multi-head attention
// predict, 10 minutes
//
// A MultiHeadAttention layer of width 64, with biases, has the matrices W^Q, W^K, W^V and W^O. Predict its
// number of parameters, biases included, in four cases:
//
//     8 heads
//     1 head
//     8 query heads and 2 key-value heads
//     8 heads with d_k = d_v = 16
//
// Where d_k and d_v are not given, they are 64, divided by the number of query heads. The judge constructs
// the layers and counts their parameters.
#include "lessons/grader/answer.hpp"

double with_eight_heads() {
  //[ width 64, 8 heads
  //: return not_written_yet();
  return 4 * (64 * 64 + 64);  // W^Q, W^K and W^V, each for all heads in one matrix, and W^O
  //]
}

double with_one_head() {
  //[ width 64, 1 head
  //: return not_written_yet();
  return 4 * 64 * 65;  // as with 8 heads: H times (width / H) is the width
  //]
}

double with_two_key_heads() {
  //[ width 64, 8 query heads, 2 key-value heads
  //: return not_written_yet();
  return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);  // W^Q and W^O; W^K and W^V for 2 heads of 8 numbers
  //]
}

double with_wide_heads() {
  //[ width 64, 8 heads, d_k = d_v = 16
  //: return not_written_yet();
  return 3 * (128 * 64 + 128) + (64 * 128 + 64);  // 8 · 16 = 128; W^O maps these back to 64
  //]
}

// hint: A Linear from a to b numbers has a · b weights and b biases. How many numbers does each of the four
//   Linears take, and how many does it return?
// hint: With head width d, W^Q maps 64 numbers to H · d, W^K and W^V map 64 numbers to G · d, and W^O maps
//   H · d numbers to __.
//
// wrong: You counted a matrix of full width for each head. The heads share this matrix: each head has 64 / 8 = 8
//   of its rows.
// - return 4 * (64 * 64 + 64);
// + return 8 * 4 * (64 * 64 + 64);
// wrong: The biases are missing. Each of the four Linears has one bias for each number that it returns.
// - return 4 * (64 * 64 + 64);
// + return 4 * 64 * 64;
// wrong: You left out W^O. It mixes the results of the heads and maps them back to the layer's width.
// - return 4 * (64 * 64 + 64);
// + return 3 * (64 * 64 + 64);
// wrong: You divided by 8, a number of heads. One head has all 64 rows of each matrix, and each of eight heads
//   has 8 rows. At equal width the number of weights does not depend on H.
// - return 4 * 64 * 65;
// + return 4 * 64 * 65 / 8;
// wrong: You counted eight times as many weights for one head as for eight heads together. At equal width the
//   number of weights does not depend on H.
// - return 4 * 64 * 65;
// + return 8 * 4 * 64 * 65;
// wrong: You made W^Q or W^O smaller, too. There are still 8 query heads, and W^O still maps the results
//   of 8 heads.
// - return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);
// + return (64 * 64 + 64) + 3 * (16 * 64 + 16);
// wrong: You counted a layer without shared keys. Two heads of keys have 2 · 8 numbers per token, not 64.
// - return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);
// + return 4 * (64 * 64 + 64);
// wrong: You divided the whole width by the two heads of keys: 64 / 2 = 32. A key is multiplied with the
//   queries of its group, so it must have their width, 64 / 8 = 8.
// - return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);
// + return 2 * (64 * 64 + 64) + 2 * (64 * 64 / 2 + 32);
// wrong: You counted 64 biases for W^K and for W^V. Each of the two returns 16 numbers here, so it has 16
//   biases.
// - return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 16);
// + return 2 * (64 * 64 + 64) + 2 * (16 * 64 + 64);
// wrong: You counted 128 biases for W^O. It maps 128 numbers to 64, so it has 64 biases.
// - return 3 * (128 * 64 + 128) + (64 * 128 + 64);
// + return 4 * (128 * 64 + 128) + 0;
// wrong: You counted a layer with d_k = 64 / 8. Here the width of a head is given as 16, and 8 · 16 is 128.
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
  judge.claim("predicts the number of parameters with 8 heads", [&] {
    judge.predicted(with_eight_heads(), counted({.width = 64, .heads = 8}), "weights with 8 heads", kExactly);
  });
  judge.claim("predicts the number of parameters with 1 head", [&] {
    judge.predicted(with_one_head(), counted({.width = 64, .heads = 1}), "weights with one head", kExactly);
  });
  judge.claim("predicts the number of parameters with shared keys and values", [&] {
    judge.predicted(with_two_key_heads(), counted({.width = 64, .heads = 8, .kv_heads = 2}),
                    "weights with 2 key-value heads", kExactly);
  });
  judge.claim("predicts the number of parameters with wider heads", [&] {
    judge.predicted(with_wide_heads(), counted({.width = 64, .heads = 8, .head_width = 16}),
                    "weights with 8 heads of 16", kExactly);
  });
}
