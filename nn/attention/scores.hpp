// The scores. To add one: a class with prepare() and score() here, and the function that makes it.
#pragma once

#include "nn/attention/score.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// s = v · tanh(W_q q + W_k k) (Bahdanau, Cho & Bengio 2015, appendix A.1.2). The widths of query, key and
/// hidden layer may all differ.
class AdditiveScore : public Module {
 public:
  AdditiveScore(Place place, Size query_width, Size key_width, Size hidden);

  Tensor prepare(const Tensor& keys) const;
  Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const;

  /// W_q (hidden, d_q) and W_k (hidden, d_k)
  Linear query, key;
  /// v (hidden)
  Parameter vector;
};

/// s = q · k (Luong, Pham & Manning 2015); query and key are equally wide.
class DotScore : public Module {
 public:
  explicit DotScore(Place place) : Module(std::move(place)) {}

  Tensor prepare(const Tensor& keys) const { return keys; }
  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const;
};

/// s = q · k / √d (Vaswani et al. 2017): with components of variance 1 the score keeps variance 1, whatever
/// the width.
class ScaledDotScore : public Module {
 public:
  explicit ScaledDotScore(Place place) : Module(std::move(place)) {}

  Tensor prepare(const Tensor& keys) const { return keys; }
  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const;
};

ScoreMaker additive(Size query_width, Size key_width, Size hidden);
ScoreMaker dot();
ScoreMaker scaled_dot();

}  // namespace tapestry
