// The chapter's measurements: the block by hand compared with nn/'s Llama, blocks of weights, the speed, and pictures.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lessons/38_chat/chat_model.hpp"
#include "lessons/38_chat/options.hpp"

namespace tapestry::lesson38 {

/// Returns a tensor of one block in f32 by the middle of its name: "attn_q" for "blk.7.attn_q.weight".
using BlockWeights = std::function<Tensor(const std::string& name)>;
/// Turns queries or keys x (heads, T, d) at positions 0 … T − 1.
using Rotate = Tensor (*)(const Tensor& x, double base);
/// x (T, width) → (T, width).
using BlockByHand = Tensor (*)(const BlockWeights& w, const Llama::Sizes& sizes, Rotate rotate,
                               const Tensor& x);

/// Bytes of one or more blocks of weights.
using Bytes = std::span<const std::uint8_t>;
/// Converts a block to its weights.
using Decode = std::vector<double> (*)(Bytes block);
/// Multiplies a row of blocks with a vector.
using Product = double (*)(Bytes row, std::span<const double> a);

/// Prints sizes from the metadata, and the types of the tensors with their bytes.
void show_file(const ChatModel& model);

/// Numbers of end tokens in a rendered conversation whose user message is harmless or spells an end.
struct EndsOfTurns {
  Size harmless = 0, separately = 0;  ///< contents encoded as plain text
  Size as_one_text = 0;               ///< the whole conversation encoded as one text
  Size pieces = 0;                    ///< tokens of the message that spells an end
};
/// Prints a conversation's tokens, and counts the end tokens. Checks that decoding returns the encoded text.
EndsOfTurns count_ends(const ChatModel& model, kit::Report& report);

/// Largest differences from nn/'s Llama, divided by the largest value.
struct Differences {
  double states = 0, logits = 0;  ///< by hand
  double wrong_pairs = 0;         ///< logits, with pairs (i, i + d/2)
  bool finite = false;            ///< with these pairs, all logits are finite
};
/// Runs all blocks by hand on the tokens of a conversation, and compares the states of the last token and its logits.
Differences compare_blocks(BlockByHand by_hand, Rotate rotate, const ChatModel& model, kit::Report& report);

/// Effects of rounding.
struct Rounding {
  double bits_of_q4_1 = 0;  ///< bits per weight
  double product = 0;       ///< ‖int8 − f32‖ / ‖f32‖ of a matrix-vector product
};
/// Compares decode and product by hand with core's, on a matrix of the file. Prints how much the logits and the most
/// likely tokens of a conversation change with int8.
Rounding compare_products(Decode decode, Product product, const ChatModel& model, std::uint64_t seed,
                          kit::Report& report);

/// Answers the questions of tiny/reference.json with the tiny model, greedily, and compares the ids of questions and
/// answers with those of other programs.
void compare_answers(const ChatModel& model, kit::Report& report);

/// Prints the bandwidth of the memory, the largest speed that it allows, and the measured speeds.
void show_roofline(const ChatSettings& settings, const kit::Options& options, kit::Report& report);

/// A greedy answer with the intermediate results of its tokens.
struct WrittenAnswer {
  Ids ids;                         ///< tokens of the answer
  std::vector<LlamaTrace> traces;  ///< traces[i] belongs to the step that chose ids[i]
};
/// Lets the model answer a question, and prints the odds of the next token at each step. Checks that the logits, token
/// by token from the cache, are those of one pass.
WrittenAnswer show_answer(const ChatModel& model, const ChatSettings& settings, const kit::Options& options,
                          kit::Report& report);
/// Draws the logit lens (lens.svg), and the weights on the first token (heads.svg).
void show_inside(const ChatModel& model, const WrittenAnswer& answer, const kit::Options& options);

/// Returns the ids of the conversation that the chapter uses: one message of the user.
Ids conversation_ids(const ChatModel& model);
/// Returns a token in quotes, safe to print, with visible line ends.
std::string token_label(const ChatModel& model, std::int64_t id);

}  // namespace tapestry::lesson38
