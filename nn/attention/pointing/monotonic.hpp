// Monotonic attention (Raffel, Luong, Liu, Weiss & Eck 2017): a reader that goes through the source once, never back.
// From where it stopped for the query before, it looks at key after key, and stops at key j with the chance
// p_j = sigmoid(score_j). What it stops at is all that it reads. In training the chance of each stop is worked out:
//
//     q_tj = (1 − p_{t,j−1}) q_{t,j−1} + α_{t−1,j}          that query t comes to key j;  α_0 = (1, 0, 0, …)
//     α_tj = p_tj q_tj                                      that it stops there
//
// A row of α sums to 1, or less: the rest has come to the end. In use it decides: it stops at the first key with
// p > ½, and needs no key behind it.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"
#include "nn/attention/attention.hpp"

namespace tapestry {

/// One query: scores (…, S) and where the query before stopped, α_{t−1} (…, S) → α_t (…, S). No product of chances
/// is divided by, so nothing is lost where they are near 0 or 1. At keys outside the mask it never stops.
Tensor monotonic_step(const Tensor& scores, const Tensor& previous, const Mask& mask = {});

/// All queries in their order, as a normaliser: scores (…, Tq, Tk) → α.
///     Attention reads{scaled_dot(), {.normalise = monotonic_weights}};
Tensor monotonic_weights(const Tensor& scores, const Mask& mask = {});

/// In use: 1 at the first key with a score above 0, from the one on that has 1 in `previous` (…, S); all 0 if there is
/// none, or if `previous` is all 0: the reader has come to the end. No gradient.
Tensor monotonic_stop(const Tensor& scores, const Tensor& previous, const Mask& mask = {});

struct MonotonicOptions {
  /// Deviation of normal noise that is added to scores in training, so that they learn to be far from 0, where the
  /// worked-out chances and the decision are nearly the same.
  double noise = 1;
  /// The score's offset r starts here. Below 0, so that at first the reader does not stop at the first keys each time.
  double first_offset = -1;
};

/// A decoder's attention, one query at a time: `state` keeps where the query before stopped.
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
  /// The same by the decision, without noise: α is 1 at one key, or 0 at all.
  AttentionOutput stop(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;

  /// r (1), added to every score.
  Parameter offset;

 private:
  /// Scores (B, 1, S), and where the query before stopped.
  struct Asked {
    Tensor scores, previous;
  };
  Asked ask(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  static AttentionOutput read(const Tensor& weights, const PreparedKV& memory, ScoreState& state);

  ModulePtr<Score> score_;
  MonotonicOptions options_;
};

}  // namespace tapestry
