// Cards that point to other cards: the models of lesson 19, their training, and the effect of each component.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lessons/19_block/cards.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/transformer/stack.hpp"

namespace tapestry::lesson19 {

/// Selects the parts of a block and the place of its norms. The default is the whole block.
struct Parts {
  bool residual = true;
  NormPosition norm = NormPosition::pre;
  bool feed_forward = true;
};

struct Recipe {
  const char* name;
  Parts parts = {};
};
/// Each row adds one part to the row above, up to the whole block. The last rows remove or move one part.
inline constexpr std::array<Recipe, 7> kRecipes = {
    {{"attention alone", {.residual = false, .norm = NormPosition::none, .feed_forward = false}},
     {"+ residual", {.norm = NormPosition::none, .feed_forward = false}},
     {"+ norm", {.feed_forward = false}},
     {"+ feed-forward (whole)"},
     {"whole, no residual", {.residual = false}},
     {"whole, no norm", {.norm = NormPosition::none}},
     {"whole, norm after", {.norm = NormPosition::post}}}};
enum : std::size_t { kAlone, kWithResidual, kWithNorm, kWhole, kNoResidual, kNoNorm, kPost };

/// Computes a block by hand: x (B, T, width) → (B, T, width), with the weights of nn/'s block.
using BlockByHand = Tensor (*)(const Tensor& x, const TransformerBlock& block, const Parts& parts);
/// Checks each recipe's block in f64: it passes gradcheck and agrees with nn/'s block.
void check_blocks(kit::Report& report, BlockByHand by_hand, std::uint64_t seed);

/// Result of a norm without scale and shift: x̂ (…, d), and the standard deviations σ (…, 1).
struct Normed {
  Tensor x_hat, sigma;
};
/// Checks in f64 that a rule for the gradient of x, given the gradient of x̂, agrees with the tape.
void check_rule(kit::Report& report, Normed (*normalise)(const Tensor& x),
                Tensor (*gradient_of_x)(const Normed& normed, const Tensor& g), std::uint64_t seed);

inline constexpr Size kDeep = 8;

/// Embeds cards, passes them through blocks, and answers each card's three questions with a Linear.
struct Reader : Module {
  Reader(Size blocks, const Parts& parts);
  /// Returns the cards' embeddings (B, 10, 32): the sum of the vectors of place, pointer and digit.
  Tensor enter(const kit::Cards& cards) const;
  /// Maps the stack's result, after its last norm, to logits (B, 10, 3, 10).
  Tensor answers(const Tensor& states) const;
  Tensor operator()(const kit::Cards& cards) const { return answers(stack(enter(cards))); }

  Embedding places, pointers, digits;
  TransformerStack stack;
  Linear answer;
};

Size batch_of(const kit::Options& options);

struct Result {
  double loss = 0;
  std::array<double, kit::kCardQuestions> right = {};  // percentages of right answers
};
enum : std::size_t { kOnce, kTwice, kSum };

/// Returns the percentage of the test's cards that show the most frequent digit of their row.
double most_frequent(const kit::Options& options);
/// Trains one block and checks its targets.
Result one_block(const kit::Options& options, kit::Report& report);

/// Results of the recipes, in the order of kRecipes.
struct AblationResults {
  std::vector<Result> two, eight;  // with two blocks, with eight blocks
};
/// Trains each recipe with two and with eight blocks. Prints tables, checks targets, and draws ledger.svg and
/// parts.svg.
AblationResults train_each_recipe(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson19
