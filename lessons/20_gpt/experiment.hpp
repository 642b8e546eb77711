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
using Probabilities = std::vector<double>;
using Choose = Probabilities (*)(const Probabilities& predicted, double temperature, Size top_k);

/// Checks that the GPT by hand agrees with the GPT from nn/, and that no position depends on later tokens. Also
/// checks that the tied matrix gets gradients both as the embedding and as the output matrix.
void check_gpt(ByHand by_hand, std::uint64_t seed, kit::Report& report);

/// The trained GPT, and the losses of three rows of the table of losses after a tenth of the training.
struct Comparison {
  std::unique_ptr<LanguageModel> gpt;  ///< the last row's model after its whole training
  kit::MapSeries maps;                 ///< the attention weights of its heads during training
  double one_block = 0, three_blocks = 0, with_residuals = 0;
};
/// Trains a bigram table, and then models with one more part each, to sort digits. Draws ledger.svg.
Comparison compare_parts(const kit::Options& options);

/// Prints one sorted string, and saves attention weights in sorting_over_training.json. Then lets the model write
/// the answers to 10,000 strings with held-out answers; each written digit becomes the next input. Returns the
/// percentage of right answers.
double sort_digits(const Comparison& comparison, const kit::Options& options);

/// Checks that decoding token by token equals decoding all tokens at once. Measures the time of one more token,
/// with and without the cache, after texts of several lengths. Draws the times to cache.svg.
void check_cache(Head head, Head with_cache, const kit::Options& options, kit::Report& report);

/// For several settings, prints the probabilities by hand and the frequencies of the tokens that sample() from
/// nn/ draws. Returns the largest difference between a probability and its frequency.
double compare_draws(Choose choose, const kit::Options& options);

}  // namespace tapestry::lesson20
