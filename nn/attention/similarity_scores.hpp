// Scores that compare the vectors of query and key: by distance, dot product or angle.
#pragma once

#include "nn/attention/score.hpp"

namespace tapestry {

/// Width σ of the Gaussian: fixed, or a learned parameter.
enum class Sigma { fixed, learned };

/// s = −‖q − k‖² / 2σ² (Nadaraya 1964; Watson 1964): with softmax, the weights are a Gaussian around the
/// query. Query and key have the same width. Computes all differences, (…, Tq, Tk, d): ‖q‖² − 2 q·k + ‖k‖²
/// would need less memory but lose precision far from the origin.
class NadarayaWatsonScore : public Score {
 public:
  NadarayaWatsonScore(Parent parent, double sigma, Sigma kind);

  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const override;

  /// log σ (1), so that σ stays positive while it learns. Undefined if σ is fixed.
  Parameter log_sigma;

 private:
  double sigma_;
};

/// s = q · k (Luong, Pham & Manning 2015); query and key have the same width.
class DotScore : public Score {
 public:
  explicit DotScore(Parent parent) : Score(std::move(parent)) {}

  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const override;
  std::optional<double> dot_factor(const Tensor&) const override { return 1; }
};

/// s = q · k / √d (Vaswani et al. 2017): if the components have variance 1, the score has variance 1 at any
/// width.
class ScaledDotScore : public Score {
 public:
  explicit ScaledDotScore(Parent parent) : Score(std::move(parent)) {}

  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const override;
  /// Returns 1/√d.
  std::optional<double> dot_factor(const Tensor& query) const override;
};

/// s = q · W k (Luong, Pham & Manning 2015): a dot product for queries and keys of different widths.
class GeneralScore : public Score {
 public:
  GeneralScore(Parent parent, Size query_width, Size key_width);

  /// Returns W k for every key: (…, Tk, d_k) → (…, Tk, d_q).
  Tensor prepare(const Tensor& keys) const override;
  Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const override;
  std::optional<double> dot_factor(const Tensor&) const override { return 1; }

  /// W (d_q, d_k)
  Parameter weight;
};

/// s = g q · k / (‖q‖ ‖k‖) (query-key normalisation: Henry et al. 2020); query and key have the same width. A vector of
/// zeros has no direction, so its scores and its gradient are 0. The same holds for a vector whose ‖x‖² underflows or
/// overflows (in f32, components below 1e-23 or above 1e19).
class CosineScore : public Score {
 public:
  CosineScore(Parent parent, double gain);

  /// Returns k / ‖k‖ for every key.
  Tensor prepare(const Tensor& keys) const override;
  Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const override;

  /// g (1)
  Parameter gain;
};

/// Makes a NadarayaWatsonScore. `sigma`: σ > 0, or its initial value if it is learned.
ScoreFactory nadaraya_watson(double sigma = 1, Sigma kind = Sigma::fixed);
/// dot() makes a DotScore, scaled_dot() a ScaledDotScore, general() a GeneralScore.
ScoreFactory dot();
ScoreFactory scaled_dot();
ScoreFactory general(Size query_width, Size key_width);
/// Makes a CosineScore. `gain`: initial value of g. A cosine is at most 1, so g limits how much one score can exceed
/// another. For n keys, the paper starts from log₂(n² − n).
ScoreFactory cosine(double gain = 10);

}  // namespace tapestry
