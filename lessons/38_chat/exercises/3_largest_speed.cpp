// 38.3 largest_speed: Bytes per token and the largest speed
// predict, 15 minutes
//
// A model has 8 blocks of width 512. Each block has 8 query heads of width 64, 2 heads of keys and values of width
// 64, and a SwiGLU with 1,536 hidden units (three matrices). The vocabulary has 32,000 tokens, and the embedding is
// also the output matrix. All matrices are in Q4_1: 20 bytes for 32 weights. Leave out the norms. The memory has a
// bandwidth of 20 GB/s (20 · 10⁹ bytes per second). Predict:
//
//     1. the bytes of weights that the model reads for one token of an answer
//     2. the largest number of tokens per second that the memory allows, if only the weights are read
//     3. the largest number of tokens per second if the weights are in f32 (4 bytes)
//     4. the bytes of keys and values, in f32, that the model also reads for a token that follows 4,096 others
#include "lessons/grader/answer.hpp"

double bytes_of_weights() {
  //[ eight blocks and the output matrix, in Q4_1
  //: return not_written_yet();
  const double attention = 2.0 * 512 * 512 + 2.0 * 512 * 128;  // queries and output; keys and values
  const double feed_forward = 3.0 * 512 * 1536;                // gate, up and down
  const double weights = 8 * (attention + feed_forward) + 32000.0 * 512;
  return weights * 20 / 32;
  //]
}

double largest_speed() {
  //[ tokens per second, in Q4_1
  //: return not_written_yet();
  return 20e9 / bytes_of_weights();
  //]
}

double largest_speed_in_f32() {
  //[ tokens per second, in f32
  //: return not_written_yet();
  return largest_speed() * 5 / 32;  // 32 bits in place of 5
  //]
}

double bytes_of_cache() {
  //[ keys and values of 4,096 tokens, in f32
  //: return not_written_yet();
  return 8.0 * 2 * 4096 * 128 * 4;  // blocks, keys and values, tokens, 2 heads of 64, bytes
  //]
}

// hint: Which matrices does a block have? Two of the four in the attention are smaller, because there are only two
//   heads of keys and values.
// hint: 32 weights take 20 bytes, so a weight takes ____ bytes. The output matrix has 32,000 rows of 512.
// hint: A token needs at least bytes / bandwidth seconds. In f32 a weight takes 4 bytes in place of 20/32.
//
// wrong: You counted 4 bits per weight. d and m take one more bit per weight: 20 bytes for 32 weights.
// - return weights * 20 / 32;
// + return weights / 2;
// wrong: You counted full matrices for keys and values. Two heads of 64 have 128 rows.
// - const double attention = 2.0 * 512 * 512 + 2.0 * 512 * 128;
// + const double attention = 4.0 * 512 * 512;
// wrong: You left out the output matrix. Each token needs the logits of the whole vocabulary.
// - const double weights = 8 * (attention + feed_forward) + 32000.0 * 512;
// + const double weights = 8 * (attention + feed_forward);
// wrong: You counted the embedding and the output matrix. They are one matrix, and the embedding reads one row.
// - const double weights = 8 * (attention + feed_forward) + 32000.0 * 512;
// + const double weights = 8 * (attention + feed_forward) + 2 * 32000.0 * 512;
// wrong: You counted two matrices in the feed-forward. SwiGLU has three: gate, up and down.
// - const double feed_forward = 3.0 * 512 * 1536;
// + const double feed_forward = 2.0 * 512 * 1536;
// wrong: You counted one block. The model has eight.
// - const double weights = 8 * (attention + feed_forward) + 32000.0 * 512;
// + const double weights = (attention + feed_forward) + 32000.0 * 512;
// wrong: This is the time of a token. The speed is its inverse.
// - return 20e9 / bytes_of_weights();
// + return bytes_of_weights() / 20e9;
// wrong: You took 8 bits for a number in f32. It has 32.
// - return largest_speed() * 5 / 32;
// + return largest_speed() * 5 / 8;
// wrong: In f32 the model reads more bytes, so it is slower and not faster.
// - return largest_speed() * 5 / 32;
// + return largest_speed() * 32 / 5;
// wrong: You counted keys for each of the eight heads of queries. Four heads of queries share one head of keys.
// - return 8.0 * 2 * 4096 * 128 * 4;
// + return 8.0 * 2 * 4096 * 512 * 4;
// wrong: You counted only the keys. The values are read as well.
// - return 8.0 * 2 * 4096 * 128 * 4;
// + return 8.0 * 4096 * 128 * 4;

//= judge
#include "core/quantised/block_type.hpp"
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Sums the bytes of a list of matrices (rows, columns).
double bytes_of(BlockType type) {
  std::vector<std::pair<Size, Size>> matrices = {{32000, 512}};
  for (int block = 0; block < 8; ++block)
    for (const auto& [rows, columns] : std::vector<std::pair<Size, Size>>{{8 * 64, 512},
                                                                          {2 * 64, 512},
                                                                          {2 * 64, 512},
                                                                          {512, 8 * 64},
                                                                          {1536, 512},
                                                                          {1536, 512},
                                                                          {512, 1536}})
      matrices.emplace_back(rows, columns);
  Size bytes = 0;
  for (const auto& [rows, columns] : matrices)
    bytes += rows * columns / block_elements(type) * block_bytes(type);
  return static_cast<double>(bytes);
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kExactly = 1e-6;
  judge.claim("predicts the bytes of the weights", [&] {
    judge.predicted(bytes_of_weights(), bytes_of(BlockType::q4_1), "the bytes of weights for a token",
                    kExactly);
  });
  judge.claim("predicts the largest speed", [&] {
    judge.predicted(largest_speed(), 20e9 / bytes_of(BlockType::q4_1), "the tokens per second", kExactly);
  });
  judge.claim("predicts the largest speed in f32", [&] {
    judge.predicted(largest_speed_in_f32(), 20e9 / bytes_of(BlockType::f32), "the tokens per second in f32",
                    kExactly);
  });
  judge.claim("predicts the bytes of keys and values", [&] {
    double bytes = 0;
    for (int block = 0; block < 8; ++block)
      for (int head = 0; head < 2; ++head) bytes += 2.0 * 4096 * 64 * sizeof(float);
    judge.predicted(bytes_of_cache(), bytes, "the bytes of keys and values", kExactly);
  });
}
