// Corpus BLEU (Papineni et al. 2002), as defined by sacrebleu for text that is already tokenised.
#include "lessons/kit/translation/bleu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

namespace tapestry::kit {
namespace {

/// Counts the n-grams of n words. Words have no spaces, so the words joined by spaces are a unique key.
std::unordered_map<std::string, Size> count_ngrams(const Words& words, std::size_t n) {
  std::unordered_map<std::string, Size> counts;
  for (std::size_t first = 0; first + n <= words.size(); ++first) {
    std::string key;
    for (std::size_t i = first; i < first + n; ++i) key += words[i] + ' ';
    ++counts[key];
  }
  return counts;
}

void require_equal(std::size_t hypotheses, std::size_t references) {
  if (hypotheses != references) {
    throw std::invalid_argument(fmt::format(
        "BLEU must have one reference for each of the {} hypotheses, got {}", hypotheses, references));
  }
}

}  // namespace

std::string Bleu::text() const {
  return fmt::format("BLEU {:.2f} ({:.1f}/{:.1f}/{:.1f}/{:.1f}, brevity {:.3f}, {} words)", score,
                     precisions[0], precisions[1], precisions[2], precisions[3], brevity, hypothesis_words);
}

void BleuCounter::add(const Words& hypothesis, const Words& reference) {
  counts_.hypothesis_words += static_cast<Size>(hypothesis.size());
  counts_.reference_words += static_cast<Size>(reference.size());
  for (std::size_t order = 0; order < 4; ++order) {
    const auto expected = count_ngrams(reference, order + 1);
    for (const auto& [ngram, count] : count_ngrams(hypothesis, order + 1)) {
      counts_.totals[order] += count;
      const auto found = expected.find(ngram);
      if (found != expected.end()) counts_.matches[order] += std::min(count, found->second);
    }
  }
}

Bleu BleuCounter::score() const {
  Bleu bleu = counts_;
  if (bleu.hypothesis_words < bleu.reference_words) {
    bleu.brevity = bleu.hypothesis_words == 0 ? 0
                                              : std::exp(1 - static_cast<double>(bleu.reference_words) /
                                                                 static_cast<double>(bleu.hypothesis_words));
  }
  if (std::accumulate(bleu.matches.begin(), bleu.matches.end(), Size{0}) == 0) return bleu;
  double log_sum = 0;
  double smoothing = 1;
  for (std::size_t order = 0; order < 4; ++order) {
    const auto total = static_cast<double>(bleu.totals[order]);
    if (bleu.totals[order] == 0) return bleu;
    if (bleu.matches[order] == 0) smoothing *= 2;
    bleu.precisions[order] = bleu.matches[order] == 0
                                 ? 100 / (smoothing * total)
                                 : 100 * static_cast<double>(bleu.matches[order]) / total;
    log_sum += std::log(bleu.precisions[order]);
  }
  bleu.score = bleu.brevity * std::exp(log_sum / 4);
  return bleu;
}

Bleu corpus_bleu(const std::vector<Words>& hypotheses, const std::vector<Words>& references) {
  require_equal(hypotheses.size(), references.size());
  BleuCounter counter;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) counter.add(hypotheses[i], references[i]);
  return counter.score();
}

std::vector<LengthBucket> bleu_by_length(const std::vector<Words>& sources,
                                         const std::vector<Words>& hypotheses,
                                         const std::vector<Words>& references,
                                         const std::vector<Size>& ends) {
  require_equal(hypotheses.size(), references.size());
  require_equal(hypotheses.size(), sources.size());
  std::vector<LengthBucket> buckets;
  Size least = 1;
  for (std::size_t i = 0; i <= ends.size(); ++i) {
    LengthBucket bucket;
    bucket.least = least;
    bucket.most = i < ends.size() ? ends[i] : std::numeric_limits<Size>::max();
    BleuCounter counter;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      const auto words = static_cast<Size>(sources[s].size());
      if (words < bucket.least || words > bucket.most) continue;
      counter.add(hypotheses[s], references[s]);
      ++bucket.sentences;
      bucket.mean += static_cast<double>(words);
    }
    bucket.mean /= static_cast<double>(std::max<Size>(1, bucket.sentences));
    bucket.bleu = counter.score();
    if (bucket.sentences > 0) buckets.push_back(bucket);
    least = bucket.most + (i < ends.size() ? 1 : 0);
  }
  return buckets;
}

}  // namespace tapestry::kit
