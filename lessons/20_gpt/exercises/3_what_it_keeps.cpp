// 20.3 what_it_keeps: The size of a KV cache
// predict, 10 minutes
//
// A GPT has 6 blocks of width 128 with 8 heads, a vocabulary of 65 tokens, and weights in f32 (4 bytes per
// number). Predict four numbers:
//
//     1. the bytes of keys and values in its cache after 512 tokens of one text
//     2. the same number of bytes if there are only 2 heads of keys and values
//     3. the number of tokens that pass through the blocks in all, if there is no cache: for each of the 100
//        tokens of a text, the logits after it are computed from the whole text so far
//     4. the loss, in nats per token, if all logits are equal
#include "lessons/grader/answer.hpp"

double bytes_of_cache() {
  //[ 6 blocks, width 128, 512 tokens, f32
  //: return not_written_yet();
  return 2.0 * 6 * 512 * 128 * 4;  // keys and values, blocks, tokens, numbers, bytes: 3 MiB
  //]
}

double bytes_of_grouped_cache() {
  //[ the same with 8 heads of queries and 2 heads of keys and values
  //: return not_written_yet();
  return 2.0 * 6 * 512 * 32 * 4;  // 2 heads of 128 / 8 = 16 numbers
  //]
}

double tokens_without_cache() {
  //[ 1 token, then 2, … then 100
  //: return not_written_yet();
  return 100 * 101 / 2;  // 1 + 2 + … + 100; with the cache it is 100
  //]
}

double first_loss() {
  //[ cross-entropy, in nats per token, of equal logits for 65 tokens
  //: return not_written_yet();
  return std::log(65.0);  // −log(1 / 65)
  //]
}

// hint: Each block stores one key and one value per token. How many numbers do the keys of all heads have
//   together?
// hint: 2 · blocks · tokens · (key heads · width / heads) · ____ bytes. With 8 key heads of 16 numbers, the
//   parenthesis is the width.
// hint: The sum 1 + 2 + … + n is n (n + 1) / 2. With equal logits, each of V tokens has the probability 1 / V.
//
// wrong: You counted only the keys or only the values. The cache stores both.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 6.0 * 512 * 128 * 4;
// wrong: You counted one block. Every block stores its own keys and values, computed from its own input.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 2.0 * 512 * 128 * 4;
// wrong: You counted numbers instead of bytes. A number in f32 has 4 bytes.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 2.0 * 6 * 512 * 128;
// wrong: You counted the full width for each head. The eight heads share the width, so each has 16 numbers.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 2.0 * 6 * 512 * 128 * 8 * 4;
// wrong: You counted the scores, 512 × 512 per head. They are computed for each new token and not stored.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 6.0 * 8 * 512 * 512 * 4;
// wrong: You counted half of the first cache. But 2 of 8 heads of keys and values are a quarter.
// - return 2.0 * 6 * 512 * 32 * 4;
// + return 2.0 * 6 * 512 * 64 * 4;
// wrong: You counted as many bytes as with 8 heads of keys and values. Shared keys and values are stored only
//   once.
// - return 2.0 * 6 * 512 * 32 * 4;
// + return 2.0 * 6 * 512 * 128 * 4;
// wrong: You counted with a cache, where each token passes through the blocks once.
// - return 100 * 101 / 2;
// + return 100;
// wrong: You counted 100 tokens each time. The first pass has one token, the second has two, and so on.
// - return 100 * 101 / 2;
// + return 100 * 100;
// wrong: You stopped at 99. The last pass has all 100 tokens, and it gives the logits after the last one.
// - return 100 * 101 / 2;
// + return 100 * 99 / 2;
// wrong: You gave the probability of the right token. The loss is minus its logarithm.
// - return std::log(65.0);
// + return 1 / 65.0;
// wrong: You used the logarithm to base 2, which gives bits. For nats, use the natural logarithm.
// - return std::log(65.0);
// + return std::log2(65.0);
// wrong: With equal logits the loss is not 0, because the right token gets no more probability than any other.
// - return std::log(65.0);
// + return 0;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/positions/positions.hpp"
#include "nn/transformer/language_model.hpp"

namespace {

/// Processes 512 tokens and returns the bytes in the cache.
double bytes_held(Size kv_heads) {
  TransformerOptions options;
  options.vocabulary = 65;
  options.layers = 6;
  options.block = {.width = 128, .heads = 8, .kv_heads = kv_heads, .hidden = 16};
  options.positions = sinusoidal();
  LanguageModel gpt(options);
  gpt.initialise(1);
  gpt.eval();
  StackCache cache = gpt.cache(512);
  for (Size piece = 0; piece < 4; ++piece)
    gpt(Indices(std::vector<std::int64_t>(128, piece), {1, 128}), cache);
  Size numbers = 0;
  for (const KeyValueCache& layer : cache.layers)
    numbers += layer.keys().shape().count() + layer.values().shape().count();
  return static_cast<double>(numbers) * sizeof(float);
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kExactly = 1e-9;
  judge.claim("predicts the size of a cache",
              [&] { judge.predicted(bytes_of_cache(), bytes_held(8), "the bytes in the cache", kExactly); });
  judge.claim("predicts the size of a cache with 2 heads of keys and values", [&] {
    judge.predicted(bytes_of_grouped_cache(), bytes_held(2), "the bytes with 2 heads of keys and values",
                    kExactly);
  });
  judge.claim("predicts the number of tokens without a cache", [&] {
    double tokens = 0;
    for (Size written = 1; written <= 100; ++written) tokens += static_cast<double>(written);
    judge.predicted(tokens_without_cache(), tokens, "the number of tokens that pass through the blocks",
                    kExactly);
  });
  judge.claim("predicts the loss with equal logits", [&] {
    const Tensor loss = cross_entropy(zeros({1, 65}, DType::f64), {7});
    judge.predicted(first_loss(), loss.item(), "the loss");
  });
}
