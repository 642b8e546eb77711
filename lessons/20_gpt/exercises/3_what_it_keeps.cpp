// 20.3 what_it_keeps: how large a cache is, and what it saves
// predict, 10 minutes
//
// A GPT of 6 blocks, 128 numbers wide, with 8 heads, a vocabulary of 65 and numbers of 4 bytes (f32). Predict
// the bytes of keys and values that its cache holds after 512 tokens of one text; the same if there are only
// 2 heads of keys and values; how many tokens go through the blocks in all to get the logits after each token
// of a text of 100, if there is no cache and each time the whole text so far is computed again; and the loss
// of a GPT whose logits are all equal.
#include "lessons/grader/answer.hpp"

double bytes_of_cache() {
  //[ 6 blocks, width 128, 512 tokens, f32
  //: return not_written_yet();
  return 2.0 * 6 * 512 * 128 * 4;  // keys and values, blocks, tokens, numbers, bytes: 3 MiB
  //]
}

double bytes_of_grouped_cache() {
  //[ the same with 8 heads of queries and 2 of keys and values
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

// hint: Each block keeps a key and a value of each token. How many numbers is a key of all heads together?
// hint: 2 · blocks · tokens · (key heads · width / heads) · ____ bytes. With 8 heads of 16 numbers that is
//   the width.
// hint: The sum 1 + 2 + … + n is n (n + 1) / 2. Equal logits give each of V tokens the share 1 / V.
//
// wrong: Those are the keys alone, or the values. The cache holds both.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 6.0 * 512 * 128 * 4;
// wrong: That is one block's. Every block has keys and values of its own, made of what enters it.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 2.0 * 512 * 128 * 4;
// wrong: You counted numbers, and were asked for bytes: an f32 has 4.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 2.0 * 6 * 512 * 128;
// wrong: You gave each head the full width. Eight heads share it: 16 numbers each.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 2.0 * 6 * 512 * 128 * 8 * 4;
// wrong: You counted the scores, 512 × 512 for each head. They are made anew for each token and not kept.
// - return 2.0 * 6 * 512 * 128 * 4;
// + return 6.0 * 8 * 512 * 512 * 4;
// wrong: You halved it. Of 8 heads of keys and values 2 are left, a quarter.
// - return 2.0 * 6 * 512 * 32 * 4;
// + return 2.0 * 6 * 512 * 64 * 4;
// wrong: You left it as it was. Heads that share keys and values need them only once.
// - return 2.0 * 6 * 512 * 32 * 4;
// + return 2.0 * 6 * 512 * 128 * 4;
// wrong: That is with a cache: each token goes through the blocks once.
// - return 100 * 101 / 2;
// + return 100;
// wrong: You took 100 tokens each time. At first there is one token, then two: half of the square, nearly.
// - return 100 * 101 / 2;
// + return 100 * 100;
// wrong: You stopped at 99: the whole text of 100 is computed as well, for the logits after its last token.
// - return 100 * 101 / 2;
// + return 100 * 99 / 2;
// wrong: That is the share that the right token gets. The loss is minus its logarithm.
// - return std::log(65.0);
// + return 1 / 65.0;
// wrong: You took the logarithm to base 2, which gives bits. The loss is counted in nats, with the natural
//   logarithm.
// - return std::log(65.0);
// + return std::log2(65.0);
// wrong: Equal logits are not a loss of 0: the model then gives the right token no more than any other.
// - return std::log(65.0);
// + return 0;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/positions/positions.hpp"
#include "nn/transformer/language_model.hpp"

namespace {

/// Reads 512 tokens and adds up what its cache then holds.
double bytes_held(Size key_heads) {
  TransformerOptions options;
  options.vocabulary = 65;
  options.layers = 6;
  options.block = {.width = 128, .heads = 8, .key_heads = key_heads, .hidden = 16};
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
  judge.claim("foretells the size of a cache",
              [&] { judge.predicted(bytes_of_cache(), bytes_held(8), "the cache's bytes", kExactly); });
  judge.claim("foretells what grouped heads save", [&] {
    judge.predicted(bytes_of_grouped_cache(), bytes_held(2), "the bytes with 2 heads of keys and values",
                    kExactly);
  });
  judge.claim("foretells what writing without a cache takes", [&] {
    double tokens = 0;
    for (Size written = 1; written <= 100; ++written) tokens += static_cast<double>(written);
    judge.predicted(tokens_without_cache(), tokens, "the tokens that go through the blocks", kExactly);
  });
  judge.claim("foretells the loss of who knows nothing", [&] {
    const Tensor loss = cross_entropy(zeros({1, 65}, DType::f64), {7});
    judge.predicted(first_loss(), loss.item(), "the loss");
  });
}
