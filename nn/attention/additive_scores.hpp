// Additive scores: a hidden layer between query and key, v · tanh(…), computed by one fused kernel.
#pragma once

#include "nn/attention/score.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// Coverage of an additive score: adds a term for the attention that each key received from earlier queries.
enum class Coverage { no, yes };

/// s = v · tanh(W_q q + W_k k) (Bahdanau, Cho & Bengio 2015, appendix A.1.2). Query, key and hidden layer may
/// have different widths.
///
/// With coverage (Tu et al. 2016, with the plain sum as in See et al. 2017, equation 11):
/// s_tj = v · tanh(W_q q_t + W_k k_j + w_c c_tj), where c_tj = Σ_{i<t} α_ij is the weight that key j has
/// received so far. The state carries the sum, so queries must come one at a time, each with the state of the
/// previous one.
class AdditiveScore : public Score {
 public:
  AdditiveScore(Parent parent, Size query_width, Size key_width, Size hidden,
                Coverage with_coverage = Coverage::no);

  /// Returns W_k k for every key: (…, Tk, d_k) → (…, Tk, hidden).
  Tensor prepare(const Tensor& keys) const override;
  Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const override;
  bool one_at_a_time() const override { return coverage.defined(); }

  /// W_q (hidden, d_q) and W_k (hidden, d_k)
  Linear query, key;
  /// v (hidden)
  Parameter vector;
  /// w_c (hidden); undefined without coverage.
  Parameter coverage;

 private:
  /// Returns the prepared keys plus w_c c.
  Tensor covered(const Tensor& query, const Tensor& prepared, ScoreState& state) const;
};

/// s = g v/‖v‖ · tanh(W_q q + W_k k + b): weight normalisation of v (Salimans & Kingma 2016), so that one
/// learned number g sets the scale of the scores.
class NormedAdditiveScore : public Score {
 public:
  NormedAdditiveScore(Parent parent, Size query_width, Size key_width, Size hidden);

  /// Returns W_k k + b for every key.
  Tensor prepare(const Tensor& keys) const override;
  Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const override;

  /// W_q (hidden, d_q); W_k (hidden, d_k) and b (hidden)
  Linear query, key;
  /// v (hidden)
  Parameter vector;
  /// g (1), initially 1/√hidden
  Parameter gain;
};

/// s = v · tanh(W [q; k]) (Luong, Pham & Manning 2015). W [q; k] = W_q q + W_k k, where W_q and W_k are the
/// left and right parts of W: the additive score with both weights in one matrix.
class ConcatScore : public Score {
 public:
  ConcatScore(Parent parent, Size query_width, Size key_width, Size hidden);

  /// Returns W_k k for every key.
  Tensor prepare(const Tensor& keys) const override;
  Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const override;

  /// W (hidden, d_q + d_k)
  Parameter weight;
  /// v (hidden)
  Parameter vector;

 private:
  Size query_width_;
};

/// additive() makes an AdditiveScore, normed_additive() a NormedAdditiveScore, of these widths.
ScoreFactory additive(Size query_width, Size key_width, Size hidden, Coverage coverage = Coverage::no);
ScoreFactory normed_additive(Size query_width, Size key_width, Size hidden);
/// Makes a ConcatScore. The name avoids a clash with the op concat(), which joins tensors.
ScoreFactory concat_score(Size query_width, Size key_width, Size hidden);

}  // namespace tapestry
