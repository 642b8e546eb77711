// Attention as a pipeline: score → mask → normalise → dropout → weighted sum. Only the score, and now and
// then the normaliser, changes from mechanism to mechanism.
//
// Which door for an attention of your own?
//
//     another score of q and k           a function (Q, K) → scores, or a class derived from Score (score.hpp)
//                                            Attention by_distance{[](const Tensor& q, const Tensor& k) {…}};
//                                            options.block.score = ScoreFactory::of<MyScore>(width);
//     something done to each score       score_mod, a lambda with parameters (learned_score_mod.hpp)
//                                            options.block.score_mod = {{{"rate", {heads}, constant(1)}}, make};
//     another normaliser than softmax    a function (scores, mask) → weights (normalise.hpp)
//                                            options.block.normalise = sparsemax_weights;
//     which pairs count                  a Mask or ValidLengths (core/tensor/values.hpp)
//                                            attention(query, keys, values, Mask::causal(n, n));
//     position information               a PositionScheme (nn/positions/scheme.hpp)
//                                            options.positions = rotary();
//
// They go together: rotary positions rotate queries and keys, the score compares them, positions add to it,
// score_mod changes it, the mask hides pairs, and the normaliser makes weights. In tiles there is room for one
// score_mod or one scheme that adds to scores (ALiBi, T5's buckets); both together go through plain ops.
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
  /// Applied to each score after the positions; empty: scores stay as they are.
  LearnedScoreMod score_mod = {};
  Normaliser normalise = softmax_weights;  // makes weights of scores
  /// Of weights, in training.
  double dropout = 0;
  /// A query with nothing to attend to, by the mask or since no key is left in its window, is an error,
  /// instead of an output of 0.
  bool strict = false;
  /// Look only at the keys near a position: local_m(D) or local_p(D, query_width, hidden).
  std::optional<Local> local = {};
  /// Position information for each pair, such as alibi(), and for what heads, `pair_shape`, it is made. What
  /// is added to the words, such as sinusoidal(), is the model's to add: here it throws.
  PositionScheme positions = {};
  PairShape pair_shape = {};
};

/// Keys and values made ready: once for any number of queries.
struct PreparedKV {
  /// As the score prepared them.
  Tensor keys;
  /// (…, Tk, d_v)
  Tensor values;
  /// Broadcasts to (…, Tq, Tk); or none. One that all rows of the batch share, such as a causal one, may be in
  /// tiles, where it stays small.
  AttendMask mask;
  /// (…, Tq, 1), only if some query may see no key.
  Mask live_queries;
};

/// Row i of the result is row rows[i] of the memory: hypotheses of a search fork, finished ones leave.
PreparedKV select_rows(const PreparedKV& memory, const std::vector<Size>& rows);

/// What attention gives.
struct AttentionOutput {
  /// (…, Tq, d_v)
  Tensor context;
  /// (…, Tq, Tk), before dropout
  Tensor weights;
  /// Local attention's p_t (…, Tq), counted from 0; none without a window.
  Tensor positions = {};
};

class WeightRecorder;

/// Leading axes (batch, heads) are free. On hidden pairs, NaN and infinity it keeps attend()'s promises
/// (core/attention/attend.hpp).
///     Attention attention{{*this, "attention"}, additive(query_width, key_width, hidden)};
///     Attention plain{scaled_dot()};
class Attention : public Module {
 public:
  Attention(Parent parent, const ScoreFactory& score, AttentionOptions options = {});
  explicit Attention(const ScoreFactory& score, AttentionOptions options = {})
      : Attention(Parent{}, score, std::move(options)) {}

  /// keys (…, Tk, d_k), values (…, Tk, d_v), and a mask that broadcasts to (…, Tq, Tk), or none.
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const Mask& mask = {}) const;
  /// The same where the caller has kept out of keys and values what no query sees. The keys stand at the
  /// places `first`, `first` + 1, …
  PreparedKV prepare_kept(const Tensor& keys, const Tensor& values, const Mask& mask, Size first = 0) const;
  /// The same with the number of valid keys of each batch row, or of each query.
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const ValidLengths& lengths) const;

  /// query (…, Tq, d_q). For queries that come one at a time, `state` carries what some scores and windows
  /// need; without it the first query is number 0. Positions that were made for another number of
  /// heads throw.
  AttentionOutput operator()(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  AttentionOutput operator()(const Tensor& query, const PreparedKV& memory) const;
  /// The context alone. It is computed in tiles (attend()), the same numbers without the (Tq, Tk) matrix,
  /// where all of these hold: nobody asks for the weights, there is no dropout and no window, the score is a
  /// dot product, the normaliser is softmax, at most one score_mod or scheme adds to the scores, and the
  /// sequences are long enough for it to pay. state.weights then stays as it was.
  Tensor context(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  AttentionOutput operator()(const Tensor& query, const Tensor& keys, const Tensor& values,
                             const Mask& mask = {}) const {
    return (*this)(query, prepare(keys, values, mask));
  }
  AttentionOutput operator()(const Tensor& query, const Tensor& keys, const Tensor& values,
                             const ValidLengths& lengths) const {
    return (*this)(query, prepare(keys, values, lengths));
  }

  /// The score that compares queries and keys.
  const Score& score() const { return *score_; }
  /// The layer's position information, if it has any.
  ModulePtr<PairPositions>& positions() { return positions_; }
  /// What its score_mod has learned, in the order of its parameters; empty without one.
  std::vector<Tensor> learned() const;

 private:
  friend class WeightRecorder;
  /// Those who record at present; a copy has none.
  struct Recorders {
    Recorders() = default;
    Recorders(const Recorders&) {}
    std::vector<WeightRecorder*> all;
  };

  /// How tiles would be asked for this, if they can do it.
  std::optional<AttendOptions> tiled_options(const Tensor& query, const PreparedKV& memory) const;
  /// Throws if a row of the pairs that count, "mask" or "window", is empty.
  void check_strict(const Mask& live_queries, const Mask& pairs, const char* what) const;
  /// Scores with what positions add to them.
  Tensor with_order(const Tensor& scores, const Tensor& query, const Mask& pairs) const;
  void check_heads(const Tensor& query, const Tensor& keys) const;

  ModulePtr<Score> score_;
  AttentionOptions options_;
  Dropout dropout_;
  std::optional<LocalWindow> local_;
  ModulePtr<PairPositions> positions_;
  std::optional<ProgrammedScore> score_mod_;
  mutable Recorders recorders_;
};

/// While one lives, it keeps the weights that an attention layer computes, and local attention's positions;
/// the model is not changed. Several on one layer each keep all.
class WeightRecorder {
 public:
  explicit WeightRecorder(const Attention& attention);
  ~WeightRecorder();
  WeightRecorder(const WeightRecorder&) = delete;
  WeightRecorder& operator=(const WeightRecorder&) = delete;

  /// One (…, Tq, Tk) for each call, off the tape.
  const std::vector<Tensor>& weights() const { return weights_; }
  /// One p_t (…, Tq) for each call of a layer with a window, off the tape.
  const std::vector<Tensor>& positions() const { return positions_; }
  /// Forgets what it has kept so far.
  void clear();

 private:
  friend class Attention;
  void take(const Tensor& weights, const Tensor& positions);

  const Attention& attention_;
  std::vector<Tensor> weights_, positions_;
};

}  // namespace tapestry
