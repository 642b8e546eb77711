// Decoding: from a model that gives scores for the next word to whole sentences, greedily or with a beam.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// What a search needs of a model that writes one word at a time, for several rows (sentences, hypotheses) at
/// once. It keeps its own state from step to step.
class AutoregressiveModel {
 public:
  virtual ~AutoregressiveModel() = default;

  /// What one step gives.
  struct Step {
    /// (rows, vocabulary), before any softmax
    Tensor logits;
    /// (rows, source): where each row looked; or no tensor.
    Tensor alignment;
  };
  /// Rows at present: one for each sentence when the search begins.
  virtual Size rows() const = 0;
  /// Takes the last word of each row, moves the state on, and scores the next word.
  virtual Step step(const Indices& words) = 0;
  /// From now on row i is what row rows[i] was: hypotheses fork, finished ones leave.
  virtual void keep_rows(const std::vector<Size>& rows) = 0;
};

struct SearchOptions {
  /// The word that goes in first, in every row; or `first`, one for each row.
  std::int64_t begin = 0;
  std::vector<std::int64_t> first = {};
  /// The word that ends a sentence; −1: none does.
  std::int64_t end = 0;
  /// Words written at most, the end included.
  Size max_length = 50;
  /// Hypotheses kept for each sentence; greedy() keeps one.
  Size beam = 5;
  /// α of the length normalisation: a hypothesis of n words (the end counts) has the score
  /// log P / ((5 + n) / 6)^α (Wu et al. 2016, equation 14). 0: plain log P, which favours short sentences.
  double length_power = 0.6;
};

/// A sentence that a search or a sampler wrote.
struct Decoded {
  /// Without begin and end.
  std::vector<std::int64_t> ids;
  /// Of the words and the end.
  double log_probability = 0;
  /// Normalised by length, as in SearchOptions.
  double score = 0;
  /// False if max_length cut it off.
  bool ended = false;
  /// A row of weights over the source for each id; empty if the model gives none.
  std::vector<std::vector<double>> alignment;
};

/// The likeliest word at every step; the first of equals. One result for each row. There must be no tape.
std::vector<Decoded> greedy(AutoregressiveModel& model, const SearchOptions& options);

/// Beam search: at every step the `beam` likeliest hypotheses of each sentence live on. A sentence is done
/// when no living one can still beat the best that ended; once `beam` have ended, when none is ahead of it at
/// its present length. Returns the best for each row. A beam of 1 gives what greedy() gives. There must be no
/// tape.
std::vector<Decoded> beam_search(AutoregressiveModel& model, const SearchOptions& options);

namespace detail {
/// The words that go in first, one for each row: `begin` for all, or `first` as given.
std::vector<std::int64_t> first_words(std::int64_t begin, const std::vector<std::int64_t>& first, Size rows);
}  // namespace detail

}  // namespace tapestry
