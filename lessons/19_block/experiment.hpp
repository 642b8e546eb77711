// Cards that point to cards: the models of lesson 19, their training, and what each part of a block brings.
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

/// Which parts a block has, and where its norms stand. Without changes it is the whole.
struct Parts {
  bool residual = true;
  NormPlace norm = NormPlace::pre;
  bool feed_forward = true;
};

struct Recipe {
  const char* name;
  Parts parts = {};
};
/// In each row one part more, then the whole with one taken away or moved.
inline constexpr std::array<Recipe, 7> kRecipes = {
    {{"attention alone", {.residual = false, .norm = NormPlace::none, .feed_forward = false}},
     {"+ residual", {.norm = NormPlace::none, .feed_forward = false}},
     {"+ norm", {.feed_forward = false}},
     {"+ feed-forward (whole)"},
     {"whole, no residual", {.residual = false}},
     {"whole, no norm", {.norm = NormPlace::none}},
     {"whole, norm after", {.norm = NormPlace::post}}}};
enum : std::size_t { kAlone, kWithResidual, kWithNorm, kWhole, kNoResidual, kNoNorm, kPost };

/// A block's result by hand: x (B, T, width) → (B, T, width), with the weights of nn/'s block.
using BlockByHand = Tensor (*)(const Tensor& x, const TransformerBlock& block, const Parts& parts);
/// Each recipe's block in f64: gradient-checked, and the same as nn/'s.
void check_blocks(kit::Report& report, BlockByHand by_hand, std::uint64_t seed);

/// What a norm without scale and shift makes of x, and the deviations: x̂ (…, d), σ (…, 1).
struct Normed {
  Tensor x_hat, sigma;
};
/// Whether a rule for the gradient of x, from that of x̂, is what the tape finds; in f64.
void check_rule(kit::Report& report, Normed (*normalise)(const Tensor& x),
                Tensor (*gradient_of_x)(const Normed& normed, const Tensor& g), std::uint64_t seed);

inline constexpr Size kDeep = 8;

/// Embeds cards, sends them through blocks, and answers the three questions of each with a Linear.
struct Reader : Module {
  Reader(Size blocks, const Parts& parts);
  /// A card is its place, its pointer and its digit, added up: (B, 10, 32).
  Tensor enter(const kit::Cards& cards) const;
  /// What a stack makes of them, norm included → logits (B, 10, 3, 10).
  Tensor answers(const Tensor& states) const;
  Tensor operator()(const kit::Cards& cards) const { return answers(stack(enter(cards))); }

  Embedding places, pointers, digits;
  TransformerStack stack;
  Linear answer;
};

Size batch_of(const kit::Options& options);

struct Result {
  double loss = 0;
  std::array<double, kit::kCardQuestions> right = {};  // per cent
};
enum : std::size_t { kOnce, kTwice, kSum };

/// The share of the test's cards that show the most frequent digit of their row, in per cent.
double most_frequent(const kit::Options& options);
/// Trains one block; targets.
Result one_block(const kit::Options& options, kit::Report& report);

/// By the order of kRecipes.
struct Ledger {
  std::vector<Result> two, eight;  // blocks
};
/// Trains each recipe with two blocks and with eight: tables, targets, and pictures in ledger.svg, parts.svg.
Ledger each_part(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson19
