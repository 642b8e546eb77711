// Scores that depend on the query and the positions of the keys, but not on the keys.
#pragma once

#include "nn/attention/score.hpp"

namespace tapestry {

/// s_j = (W q)_j (Luong, Pham & Manning 2015: location-based). W (T_max, d_q) has a row for each position;
/// with Tk < T_max keys the first Tk rows are used. Throws for more than T_max keys.
class LocationScore : public Score {
 public:
  LocationScore(Parent parent, Size query_width, Size longest);

  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const override;

  /// W (T_max, d_q)
  Parameter weight;
};

/// s_j = (W [e; q])_j, where e (d_e) embeds the previous token: one fully connected layer from the decoder's
/// inputs to the source positions, as in many tutorials. **Pass [e; q] as the query**, e first:
/// (…, Tq, d_e + d_q). W (T_max, d_e + d_q) treats fewer and more keys as LocationScore does.
class FullyConnectedScore : public Score {
 public:
  FullyConnectedScore(Parent parent, Size embedding_width, Size query_width, Size longest);

  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const override;

  /// W (T_max, d_e + d_q)
  Parameter weight;
};

/// location() makes a LocationScore, fully_connected() a FullyConnectedScore. `longest`: T_max, the largest
/// number of keys.
ScoreFactory location(Size query_width, Size longest);
ScoreFactory fully_connected(Size embedding_width, Size query_width, Size longest);

}  // namespace tapestry
