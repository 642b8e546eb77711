// Corpus BLEU (Papineni et al. 2002), as defined by sacrebleu for text that is already tokenised.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/text/text.hpp"

namespace tapestry::kit {

/// BLEU score with its parts: score = 100 · bp · exp(¼ Σₙ log pₙ). pₙ = matching n-grams (clipped to the count in the
/// reference) ÷ n-grams of the hypotheses. bp = min(1, exp(1 − reference words ÷ hypothesis words)).
struct Bleu {
  double score = 0;                       ///< 0 to 100
  std::array<double, 4> precisions = {};  ///< percent, after smoothing
  std::array<Size, 4> matches = {};
  std::array<Size, 4> totals = {};
  double brevity = 1;
  Size hypothesis_words = 0;
  Size reference_words = 0;

  /// Returns "BLEU 38.61 (68.2/45.1/32.0/22.9, brevity 0.980, 12968 words)".
  std::string text() const;
};

/// Sum of the n-gram counts over sentences. The score is computed from the sums; it is not a mean of sentence scores.
class BleuCounter {
 public:
  void add(const Words& hypothesis, const Words& reference);
  /// Returns the score with smoothing "exp" (sacrebleu's default): the k-th order without a match counts as 1 / 2ᵏ
  /// matches. The score is 0 without any match, and if no hypothesis is long enough for one of the orders.
  Bleu score() const;

 private:
  Bleu counts_;
};

/// Returns the BLEU of hypotheses with one reference each. Throws std::invalid_argument if their numbers differ.
Bleu corpus_bleu(const std::vector<Words>& hypotheses, const std::vector<Words>& references);

/// BLEU of the sentences whose source has `least` to `most` words.
struct LengthBucket {
  Size least = 0;
  Size most = 0;
  Size sentences = 0;
  double mean = 0;  ///< mean length of the sources in words
  Bleu bleu;
};

/// Returns BLEU by source length. `ends` are the largest lengths of the buckets in ascending order: {10, 20, 30} gives
/// 1–10, 11–20, 21–30 and one bucket for longer sources. Empty buckets are left out.
std::vector<LengthBucket> bleu_by_length(const std::vector<Words>& sources,
                                         const std::vector<Words>& hypotheses,
                                         const std::vector<Words>& references, const std::vector<Size>& ends);

}  // namespace tapestry::kit
