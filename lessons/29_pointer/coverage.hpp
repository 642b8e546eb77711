// Coverage: a decoder whose query is only the previous word copies texts with repeated words, with and without
// coverage.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"

namespace tapestry::lesson29 {

/// Compares coverage by hand with nn/'s layer and loss. `by_hand` receives queries (T, d_q), keys (S, d_k)
/// and W_q, W_k, v, w_c. It returns the weights (T, S) with the loss as one more column.
using CoverageWeights = Tensor (*)(const Tensor& queries, const Tensor& keys,
                                   const std::vector<Tensor>& weights);
void check_coverage(CoverageWeights by_hand, std::uint64_t seed, kit::Report& report);

inline constexpr Size kCopyWords = 30;

/// Draws texts (B, n). Each text has few different words, and no word follows itself.
Indices draw_texts(kit::Random random, Size count, Size length);

/// A decoder without a recurrent state. The query is the previous word. A key is made of the word at a
/// position, the word before it, and the position. The probability of a word is the sum of the weights of its
/// positions: copying, with p_gen = 0.
struct Copier : Module {
  explicit Copier(Coverage coverage);
  struct Read {
    Tensor weights;  ///< (B, n, n)
    Indices words;   ///< (B, n)
  };
  /// Writes one word for each word of `source` (B, n). The previous word is the source's if `teacher_forced`, else the
  /// word that the decoder wrote.
  Read operator()(const Indices& source, bool teacher_forced) const;

  Embedding words;
  Attention attention;
};

/// Test results for texts of 12 words, the longest texts in training.
struct CopyResult {
  double repeated = 0;       ///< words written more often than the text contains them, in % of all words
  double right = 0;          ///< words written at the right positions, in %
  double coverage_loss = 0;  ///< mean over the steps of Σ_j min(α_tj, c_tj)
};
struct CoverageResults {
  CopyResult plain, loss_only, coverage, both;
};
/// Trains the four copiers, prints a table and one text written by two of them, and draws circles.svg and
/// covered.svg. `lambda` is the weight of the coverage loss.
CoverageResults train_copiers(double lambda, const kit::Options& options);

}  // namespace tapestry::lesson29
