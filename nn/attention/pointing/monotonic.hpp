// Monotonic attention (Raffel, Luong, Liu, Weiss & Eck 2017): a reader that goes through the source once, never back.
// It starts at the key where the previous query stopped, visits one key after another, and stops at key j with
// probability p_j = sigmoid(score_j). It reads only that key. Training uses the probability of each stop:
//
//     q_tj = (1 − p_{t,j−1}) q_{t,j−1} + α_{t−1,j}          query t reaches key j;  α_0 = (1, 0, 0, …)
//     α_tj = p_tj q_tj                                      query t stops at key j
//
// A row of α sums to at most 1; the rest is the probability of reaching the end. At inference the reader decides: it
// stops at the first key with p > ½ and needs no later key.
#pragma once

#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"
#include "nn/attention/attention.hpp"

namespace tapestry {

/// Returns α_t (…, S) of one query from scores (…, S) and the previous stop α_{t−1} (…, S). It does not divide by a
/// product of probabilities, so it is accurate even if they are near 0 or 1. It never stops at masked keys.
Tensor monotonic_step(const Tensor& scores, const Tensor& previous, const Mask& mask = {});

/// Returns α of all queries in order, as a normaliser: scores (…, Tq, Tk) → (…, Tq, Tk).
///     Attention reads{scaled_dot(), {.normalise = monotonic_weights}};
Tensor monotonic_weights(const Tensor& scores, const Mask& mask = {});

/// Returns the stop at inference: 1 at the first key with a score above 0, starting at the key that has 1 in `previous`
/// (…, S). All 0 if there is none, or if `previous` is all 0: the reader has reached the end. No gradient.
Tensor monotonic_stop(const Tensor& scores, const Tensor& previous, const Mask& mask = {});

struct MonotonicOptions {
  /// Standard deviation of normal noise added to scores in training. It trains the scores to be far from 0, so that the
  /// expected weights and the decision nearly agree.
  double noise = 1;
  /// Initial value of the score's offset r. It is negative, so that an untrained reader does not always stop at the
  /// first keys.
  double first_offset = -1;
};

/// Monotonic attention of a decoder, one query at a time; `state` stores the previous stop.
///     MonotonicAttention attention{{*this, "attention"}, normed_additive(query_width, key_width, hidden)};
class MonotonicAttention : public Module {
 public:
  MonotonicAttention(Parent parent, const ScoreFactory& score, MonotonicOptions options = {});
  explicit MonotonicAttention(const ScoreFactory& score, MonotonicOptions options = {})
      : MonotonicAttention(Parent{}, score, options) {}

  /// keys (B, S, d_k), values (B, S, d_v), and one length for each row, or none.
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const ValidLengths& lengths = {}) const;
  /// query (B, 1, d_q) → context (B, 1, d_v) and α (B, 1, S).
  AttentionOutput operator()(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  /// Same, with the hard decision and without noise: α is 1 at one key, or 0 at all.
  AttentionOutput stop(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;

  /// r (1), added to every score.
  Parameter offset;

 private:
  /// Scores (B, 1, S), and the previous stop.
  struct ScoredQuery {
    Tensor scores, previous;
  };
  ScoredQuery score_query(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  static AttentionOutput read(const Tensor& weights, const PreparedKV& memory, ScoreState& state);

  ModulePtr<Score> score_;
  MonotonicOptions options_;
};

}  // namespace tapestry
