// Attention as a pipeline: score → mask → normalise → dropout → weighted sum. Most mechanisms replace only
// the score, and a few the normaliser.
//
// Ways to write your own attention:
//
//     another score of q and k           a function (Q, K) → scores, or a class derived from Score (score.hpp)
//                                            Attention by_distance{[](const Tensor& q, const Tensor& k) {…}};
//                                            options.block.score = ScoreFactory::of<MyScore>(width);
//     a change to each score             score_mod, a lambda with parameters (learned_score_mod.hpp)
//                                            options.block.score_mod = {{{"rate", {heads}, constant(1)}}, make};
//     another normaliser than softmax    a function (scores, mask) → weights (normalise.hpp)
//                                            options.block.normalise = sparsemax_weights;
//     another set of visible pairs       a Mask or ValidLengths (core/tensor/values.hpp)
//                                            attention(query, keys, values, Mask::causal(n, n));
//     position information               a PositionScheme (nn/positions/scheme.hpp)
//                                            options.positions = rotary();
//
// All of these combine, in this order: rotary positions rotate queries and keys, the score compares them,
// positions add to the scores, score_mod changes them, the mask hides pairs, and the normaliser makes
// weights. Tiles support one score_mod or one scheme that adds to scores (ALiBi, T5's buckets); both together
// run as plain ops.
#pragma once

#include <optional>
#include <vector>

#include "core/attention/attend.hpp"
#include "nn/attention/learned_score_mod.hpp"
#include "nn/attention/local.hpp"
#include "nn/attention/normalise.hpp"
#include "nn/attention/scores.hpp"
#include "nn/dropout.hpp"
#include "nn/positions/scheme.hpp"

namespace tapestry {

struct AttentionOptions {
  /// Applied to each score after the positions; empty: scores are unchanged.
  LearnedScoreMod score_mod = {};
  Normaliser normalise = softmax_weights;  // turns scores into weights
  /// Dropout rate of the weights, in training.
  double dropout = 0;
  /// Throws for a query that can attend to no key, because of the mask or its window, instead of returning 0.
  bool strict = false;
  /// Restricts attention to keys near a position: local_m(D) or local_p(D, query_width, hidden).
  std::optional<Local> local = {};
  /// Position information for each pair, such as alibi(); `pair_shape` describes the heads that it serves.
  /// Positions that are added to the input, such as sinusoidal(), belong to the model and throw here.
  PositionScheme positions = {};
  PairShape pair_shape = {};
};

/// Keys and values prepared once for any number of queries.
struct PreparedKV {
  /// Keys as the score prepared them.
  Tensor keys;
  /// (…, Tk, d_v)
  Tensor values;
  /// Mask that broadcasts to (…, Tq, Tk), or none. A mask that all batch rows share, such as a causal one,
  /// may be stored in tiles, where it stays small.
  AttendMask mask;
  /// (…, Tq, 1): true for queries that may see some key; defined only if some query may see none.
  Mask live_queries;
};

/// Returns a memory whose row i is row rows[i] of the given one, for a search that copies and drops
/// hypotheses.
PreparedKV select_rows(const PreparedKV& memory, const std::vector<Size>& rows);

/// Result of attention.
struct AttentionOutput {
  /// (…, Tq, d_v)
  Tensor context;
  /// (…, Tq, Tk), before dropout
  Tensor weights;
  /// p_t (…, Tq) of local attention, counted from 0; undefined without a window.
  Tensor positions = {};
};

/// Attention with any leading axes (batch, heads). Its guarantees for masked pairs, NaN and infinity are
/// those of attend() (core/attention/attend.hpp).
///     Attention attention{{*this, "attention"}, additive(query_width, key_width, hidden)};
///     Attention plain{scaled_dot()};
class Attention : public Module {
 public:
  Attention(Parent parent, const ScoreFactory& score, AttentionOptions options = {});
  explicit Attention(const ScoreFactory& score, AttentionOptions options = {})
      : Attention(Parent{}, score, std::move(options)) {}

  /// keys (…, Tk, d_k), values (…, Tk, d_v), and a mask that broadcasts to (…, Tq, Tk), or none. Throws
  /// unless there is one value for each key.
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const Mask& mask = {}) const;
  /// Same, for a caller that has already zeroed the keys and values which no query sees. The keys are at
  /// positions `first`, `first` + 1, …
  PreparedKV prepare_kept(const Tensor& keys, const Tensor& values, const Mask& mask, Size first = 0) const;
  /// Same, with the number of valid keys of each batch row, or of each query.
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const ValidLengths& lengths) const;

  /// query (…, Tq, d_q). For queries that come one at a time, `state` carries the data that some scores and
  /// windows need; without it the first query has index 0. Throws if the positions were made for another
  /// number of heads.
  AttentionOutput operator()(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  AttentionOutput operator()(const Tensor& query, const PreparedKV& memory) const;
  /// Returns the context alone. It is computed in tiles (attend()), with the same numbers and without the
  /// (Tq, Tk) matrix, if all of these hold: no WeightRecorder is active, there is no dropout and no window,
  /// the score is a dot product, the normaliser is softmax, at most one score_mod or scheme adds to the
  /// scores, and the sequences are long enough for tiles to be faster. state.weights is then left unchanged.
  Tensor context(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  AttentionOutput operator()(const Tensor& query, const Tensor& keys, const Tensor& values,
                             const Mask& mask = {}) const {
    return (*this)(query, prepare(keys, values, mask));
  }
  AttentionOutput operator()(const Tensor& query, const Tensor& keys, const Tensor& values,
                             const ValidLengths& lengths) const {
    return (*this)(query, prepare(keys, values, lengths));
  }

  /// Returns the score that compares queries and keys.
  const Score& score() const { return *score_; }
  /// Returns the position information of the layer, if it has any.
  ModulePtr<PairPositions>& positions() { return positions_; }
  /// Returns the learned parameters of its score_mod, in their declared order; empty without one.
  std::vector<Tensor> learned() const;

 private:
  /// The scores of all pairs, and the pairs that count.
  struct ScoredPairs {
    Tensor query;   // as the score saw it
    Tensor scores;  // (…, Tq, Tk)
    Mask mask;      // false also for pairs with a score of −∞
    Mask live_queries;
  };
  ScoredPairs score_pairs(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  /// Returns the scores with the terms of the positions and of score_mod.
  Tensor scores_of(const Tensor& query, const Tensor& keys, const Mask& pairs, ScoreState& state) const;
  /// Returns the query, rotated by the positions, with masked rows set to 0.
  Tensor rotated(const Tensor& query, const Mask& live_queries, Size first) const;
  /// Returns the options for attend(), or nothing if tiles do not support this call.
  std::optional<AttendOptions> tiled_options(const Tensor& query, const PreparedKV& memory) const;
  /// In strict mode, throws if a row of `pairs` is empty; `what` is "mask" or "window".
  void check_strict(const Mask& live_queries, const Mask& pairs, const char* what) const;
  void check_heads(const Tensor& query, const Tensor& keys) const;

  ModulePtr<Score> score_;
  AttentionOptions options_;
  Dropout dropout_;
  std::optional<LocalWindow> local_;
  ModulePtr<PairPositions> positions_;
  std::optional<ProgrammedScore> score_mod_;
};

}  // namespace tapestry
