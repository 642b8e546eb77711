// The chapter's GPT beside nn/'s, its training on sorting part by part, the cache's speed, and draws counted.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/map_series.hpp"
#include "nn/sample.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry::lesson20 {

/// By the names that they have in a file.
using Weights = std::map<std::string, Tensor>;
/// ids (B, T) → logits (B, T, V); `out` (V, width) stands at the end.
using ByHand = Tensor (*)(const Weights& weights, const Tensor& out, Size layers, Size heads,
                          const Indices& ids);
/// x (B, T, d) → (B, T, c), by three matrices (c, d).
using Head = Tensor (*)(const Tensor& x, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v);
/// Shares of tokens, and those with which they are drawn.
using Shares = std::vector<double>;
using Choose = Shares (*)(const Shares& shares, double temperature, Size top_k);

/// nn/'s the same, nothing ahead is seen, and the tied matrix learns from both ends.
void check_gpt(ByHand by_hand, std::uint64_t seed, kit::Report& report);

/// Losses of a tenth of the training, by the names of ledger's rows.
struct Ledger {
  std::unique_ptr<LanguageModel> gpt;  ///< the last row, trained to the end
  kit::MapSeries maps;                 ///< what its heads looked at meanwhile
  double one_block = 0, three_blocks = 0, with_residuals = 0;
};
/// Trains a table of pairs, and models with one part more each, to sort digits; draws ledger.svg.
Ledger show_ledger(const kit::Options& options);

/// Prints one string sorted, and keeps what heads looked at in sorting_over_training.json; returns the share of
/// 10,000 strings with answers never seen that are right, in per cent, each digit that was written fed back.
double sort_digits(const Ledger& ledger, const kit::Options& options);

/// Token by token equals all at once; then one token more after longer and longer texts, to cache.svg.
void check_cache(Head head, Head with_cache, const kit::Options& options, kit::Report& report);

/// The largest difference between shares by hand and those of what nn/'s sample() draws. Prints both.
double count_draws(Choose choose, const kit::Options& options);

}  // namespace tapestry::lesson20
