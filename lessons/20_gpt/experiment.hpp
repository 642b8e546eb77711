// The chapter's GPT compared with nn/'s, its training on sorting, the speed of the cache, and counted draws.
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

/// Weights by their names in a checkpoint file.
using Weights = std::map<std::string, Tensor>;
/// ids (B, T) → logits (B, T, V); `out` (V, width) is the output matrix.
using ByHand = Tensor (*)(const Weights& weights, const Tensor& out, Size layers, Size heads,
                          const Indices& ids);
/// x (B, T, d) → (B, T, c), with three matrices (c, d).
using Head = Tensor (*)(const Tensor& x, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v);
/// Probabilities of tokens.
using Shares = std::vector<double>;
using Choose = Shares (*)(const Shares& shares, double temperature, Size top_k);

/// Checks that the GPT by hand agrees with nn/'s, that no position depends on later tokens, and that the tied
/// matrix gets gradients from both ends.
void check_gpt(ByHand by_hand, std::uint64_t seed, kit::Report& report);

/// Losses after a tenth of the training, for three rows of the table.
struct Ledger {
  std::unique_ptr<LanguageModel> gpt;  ///< the last row's model after its whole training
  kit::MapSeries maps;                 ///< the attention weights of its heads during training
  double one_block = 0, three_blocks = 0, with_residuals = 0;
};
/// Trains a bigram table, and then models with one more part each, to sort digits. Draws ledger.svg.
Ledger show_ledger(const kit::Options& options);

/// Prints one sorted string, and saves attention weights in sorting_over_training.json. Returns the percentage
/// of right answers for 10,000 strings with held-out answers. Each written digit becomes the next input.
double sort_digits(const Ledger& ledger, const kit::Options& options);

/// Checks that decoding token by token equals decoding all tokens at once. Times one more token after longer
/// and longer texts, in cache.svg.
void check_cache(Head head, Head with_cache, const kit::Options& options, kit::Report& report);

/// Prints the probabilities by hand and the frequencies drawn by nn/'s sample(). Returns their largest
/// difference.
double count_draws(Choose choose, const kit::Options& options);

}  // namespace tapestry::lesson20
