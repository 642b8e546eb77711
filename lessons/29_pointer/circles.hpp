// Copying texts in which words come again, with a reader that goes by the last word alone: does it go in circles?
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"

namespace tapestry::lesson29 {

/// Coverage by hand beside nn/'s layer and loss, weights (T, S) with the loss in
/// one more column, of queries (T, d_q), keys (S, d_k) and W_q, W_k, v, w_c.
using Covering = Tensor (*)(const Tensor& queries, const Tensor& keys, const std::vector<Tensor>& weights);
void check_covering(Covering by_hand, std::uint64_t seed, kit::Report& report);

inline constexpr Size kCircleWords = 30;

/// Texts (B, n) of few different words each, none twice in a row.
Indices draw_texts(kit::Random random, Size count, Size length);

/// No state but what attention keeps: the query is the word before. A key knows its word, the word before it, and its
/// place. The chance of a word is the weight of the places where it stands: copying, with p_gen = 0.
struct Copier : Module {
  explicit Copier(Coverage coverage);
  /// A place for each word of `source` (B, n), in their order. Given is the word before, of the source if `forced`, else
  /// what was written: weights (B, n, n), words (B, n).
  struct Read {
    Tensor weights;
    Indices words;
  };
  Read operator()(const Indices& source, bool forced) const;

  Embedding words;
  Attention attention;
};

/// Of texts of 12 words, the longest that were trained.
struct Circled {
  double again = 0;  ///< words that were written oftener than they stand in the text, in % of all
  double right = 0;  ///< words in their places, in %
  double twice = 0;  ///< the mean of coverage's loss, Σ_j min(α_tj, c_tj)
};
struct Circles {
  Circled plain, loss_only, coverage, both;
};
/// Trains the four, prints a table, writes one text with two of them, and draws circles.svg and covered.svg. `lambda` weighs coverage's
/// loss.
Circles train_copiers(double lambda, const kit::Options& options);

}  // namespace tapestry::lesson29
