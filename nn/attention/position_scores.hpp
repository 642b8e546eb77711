// Scores that look at the query and never at the keys: one weight for each place in the source.
#pragma once

#include "nn/attention/score.hpp"

namespace tapestry {

/// s_j = (W q)_j (Luong, Pham & Manning 2015: location-based). W (T_max, d_q) has a row for each place, and
/// with Tk < T_max keys the first Tk rows count; more keys than T_max are an error.
class LocationScore : public Score {
 public:
  LocationScore(Parent parent, Size query_width, Size longest);

  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const override;

  /// W (T_max, d_q)
  Parameter weight;
};

/// s_j = (W [e; q])_j, where e (d_e) embeds the word before: one fully connected layer from what the decoder
/// knows to the places of the source, as many tutorials have it. **The query to pass in is [e; q]**, e first:
/// (…, Tq, d_e + d_q). W (T_max, d_e + d_q); fewer and more keys as for the location score.
class FullyConnectedScore : public Score {
 public:
  FullyConnectedScore(Parent parent, Size embedding_width, Size query_width, Size longest);

  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const override;

  /// W (T_max, d_e + d_q)
  Parameter weight;
};

/// location(): a LocationScore; fully_connected(): a FullyConnectedScore. `longest`: T_max, the keys of the
/// longest source there will be.
ScoreFactory location(Size query_width, Size longest);
ScoreFactory fully_connected(Size embedding_width, Size query_width, Size longest);

}  // namespace tapestry
