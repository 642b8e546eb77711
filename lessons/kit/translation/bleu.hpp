// BLEU (Papineni et al. 2002) of a corpus, as sacrebleu defines it for text that is already tokenised.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/text/text.hpp"

namespace tapestry::kit {

/// score = 100 · bp · exp(¼ Σₙ log pₙ), pₙ = matches of n-grams (clipped to the reference's count) ÷ n-grams
/// of the hypotheses, bp = min(1, exp(1 − reference words ÷ hypothesis words)).
struct Bleu {
  double score = 0;                       ///< 0 to 100
  std::array<double, 4> precisions = {};  ///< percent, after smoothing
  std::array<Size, 4> matches = {};
  std::array<Size, 4> totals = {};
  double brevity = 1;
  Size hypothesis_words = 0;
  Size reference_words = 0;

  /// "BLEU 38.61 (68.2/45.1/32.0/22.9, brevity 0.98, 12968 words)"
  std::string text() const;
};

/// Sums the counts over sentences; the score is one of the sums, not a mean of sentences' scores.
class BleuCounter {
 public:
  void add(const Words& hypothesis, const Words& reference);
  /// Smoothing "exp" (sacrebleu's default): the k-th order without a match counts as 1 / 2ᵏ matches. Without
  /// any match, or with an order that no hypothesis is long enough for, the score is 0.
  Bleu score() const;

 private:
  Bleu counts_;
};

/// One reference for each hypothesis. Throws std::invalid_argument when their numbers differ.
Bleu corpus_bleu(const std::vector<Words>& hypotheses, const std::vector<Words>& references);

/// The BLEU of the sentences whose source has `least` to `most` words.
struct LengthBucket {
  Size least = 0;
  Size most = 0;
  Size sentences = 0;
  double mean = 0;  ///< of the source's words
  Bleu bleu;
};

/// `ends` are the longest lengths of the buckets, rising ({10, 20, 30} gives 1–10, 11–20, 21–30, and a last
/// one for what is longer). Buckets without a sentence are left out.
std::vector<LengthBucket> bleu_by_length(const std::vector<Words>& sources,
                                         const std::vector<Words>& hypotheses,
                                         const std::vector<Words>& references, const std::vector<Size>& ends);

}  // namespace tapestry::kit
