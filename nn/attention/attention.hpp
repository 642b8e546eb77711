// Attention as a pipeline: score → mask → normalise → dropout → weighted sum. Most mechanisms replace only the score; a
// few replace the normaliser.
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
//     another set of visible pairs       a Mask or ValidLengths (core/tensor/mask.hpp)
//                                            attention(query, keys, values, Mask::causal(n, n));
//     position information               a PositionScheme (nn/positions/scheme.hpp)
//                                            options.positions = rotary();
//     anything else                      a SelfAttention, in the models (self_attention.hpp)
//                                            options.block.attention = self_attention<MyAttention>(width);
//
// You can combine them. They apply in this order: rotary positions rotate queries and keys, the score compares queries
// with keys, position schemes add biases to the scores, score_mod changes the scores, the mask hides pairs, and the
// normaliser turns scores into weights. The tiled kernel attend() supports either one score_mod or one additive scheme
// (ALiBi, T5's buckets); with both, attention runs as plain ops.
#pragma once

#include <concepts>
#include <optional>
#include <vector>

#include "core/attention/attend.hpp"
#include "nn/attention/learned_score_mod.hpp"
#include "nn/attention/local.hpp"
#include "nn/attention/normalise.hpp"
#include "nn/attention/scores.hpp"
#include "nn/dropout.hpp"
#include "nn/positions/scheme.hpp"
#include "nn/positions/token_positions.hpp"

namespace tapestry {

struct AttentionOptions {
  /// Function applied to each score after the positions. Default: no change.
  LearnedScoreMod score_mod = {};
  Normaliser normalise = softmax_weights;  // turns scores into weights
  /// Dropout rate of the weights in training.
  double dropout = 0;
  /// If true, a query with no visible key (because of the mask or the local window) throws instead of giving 0.
  bool strict = false;
  /// Restricts attention to keys near a position: local_m(D) or local_p(D, query_width, hidden).
  std::optional<Local> local = {};
  /// Position information for each pair, such as alibi(). `pair_shape` describes the heads. Positions that are added to
  /// the input, such as sinusoidal(), must be applied by the model; passing one here throws.
  PositionScheme positions = {};
  PairShape pair_shape = {};
  /// Adds a key with value 0 and one learned score for each head of `pair_shape`, so that a query can attend to nothing
  /// (OpenAI 2025, gpt-oss; Xiao et al. 2023). The normaliser gets the sink's score as an additional last column, and
  /// the layer drops the sink's weight. With a normaliser that treats each score separately, such as sigmoid_weights, a
  /// sink has no effect.
  bool learned_sink = false;
};

namespace detail {

/// Type of a member `normalise` of options whose normaliser is in their member `attend`. A value for it fails to
/// compile, with a message that names attend.normalise.
struct NormaliseOfAttend {
  NormaliseOfAttend() = default;
  template <class Function>
  requires(!std::same_as<Function, NormaliseOfAttend>) NormaliseOfAttend(const Function&) {
    static_assert(std::same_as<Function, NormaliseOfAttend>,
                  "the normaliser is an option of `attend`: write {.attend = {.normalise = f}}, or "
                  "options.attend.normalise = f");
  }
};

}  // namespace detail

/// Keys and values prepared once for any number of queries.
struct PreparedKV {
  /// Result of Score::prepare() for the keys; for most scores (…, Tk, d).
  Tensor keys;
  /// (…, Tk, d_v)
  Tensor values;
  /// Mask that broadcasts to (…, Tq, Tk), or none. A mask that all batch rows share, such as a causal mask, may be a
  /// BlockMask, which takes little memory.
  AttendMask mask;
  /// (…, Tq, 1): true for queries with at least one visible key; undefined if every query has one.
  Mask live_queries;
  /// Numbers of each key for a score_mod that depends on the layer's input (LearnedScoreMod::data), (B, Tk, n);
  /// otherwise undefined.
  Tensor data = {};
};

/// Selects batch rows: row i of the result is row rows[i] of `memory`. Beam search uses this to copy and drop
/// hypotheses.
PreparedKV select_rows(const PreparedKV& memory, const std::vector<Size>& rows);

/// Result of attention.
struct AttentionOutput {
  /// (…, Tq, d_v)
  Tensor context;
  /// (…, Tq, Tk), before dropout
  Tensor weights;
  /// Window centres p_t (…, Tq) of local attention, counted from 0; undefined without a window.
  Tensor positions = {};
};

/// Attention layer, with any leading axes (batch, heads). It gives the guarantees of attend() about masked pairs, NaN
/// and infinity (core/attention/attend.hpp).
///     Attention attention{{*this, "attention"}, additive(query_width, key_width, hidden)};
///     Attention plain{scaled_dot()};
class Attention : public Module {
 public:
  Attention(Parent parent, const ScoreFactory& score, AttentionOptions options = {});
  explicit Attention(const ScoreFactory& score, AttentionOptions options = {})
      : Attention(Parent{}, score, std::move(options)) {}

  /// Prepares keys (…, Tk, d_k), values (…, Tk, d_v), and a mask that broadcasts to (…, Tq, Tk), or none. Throws unless
  /// there is one value for each key.
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const Mask& mask = {}) const;
  /// Like prepare(), but does not set keys and values that no query sees to 0; the caller must have done so.
  /// `positions` are those of the keys.
  PreparedKV prepare_masked(const Tensor& keys, const Tensor& values, const Mask& mask,
                            const TokenPositions& positions = {}) const;
  /// Like prepare(), with the number of valid keys of each batch row, or of each query.
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const ValidLengths& lengths) const;

  /// Computes attention for query (…, Tq, d_q). If a decoder passes its queries one at a time, `state` carries the data
  /// that some scores and windows need from earlier queries. Without `state`, the first query has index 0. Throws if
  /// the positions were made for another number of heads. A list in state.positions requires a dot-product score
  /// without score_mod and window, and positions, if any, with as_score_mod(); otherwise throws. That ScoreMod must add
  /// a term to the scores.
  AttentionOutput operator()(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  AttentionOutput operator()(const Tensor& query, const PreparedKV& memory) const;
  /// Returns only the context. Calls the tiled kernel attend(), which needs no (Tq, Tk) matrix, if:
  ///  - the score is a dot product and the normaliser is softmax,
  ///  - at most one of score_mod and the position scheme applies, and the scheme has the form of a score_mod,
  ///  - there is no window, no active dropout, and no WeightRecorder of this layer,
  ///  - the sequences are long enough for tiles to be faster.
  /// Otherwise calls operator(). The tiled path leaves state.weights unchanged.
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
  /// Returns the learned parameters of score_mod, in the order of their declaration; empty without a score_mod.
  std::vector<Tensor> learned() const;
  /// Returns the numbers that score_mod computes for each token of the layer's input (B, T, width); undefined without
  /// LearnedScoreMod::data.
  Tensor data_of(const Tensor& input) const;
  /// Returns the learned scores of the sink, (heads); undefined without AttentionOptions::learned_sink.
  const Parameter& sink() const { return sink_; }

 private:
  /// The scores of all pairs, and the mask of visible pairs.
  struct ScoredPairs {
    Tensor query;   // as passed to the score
    Tensor scores;  // (…, Tq, Tk)
    Mask mask;      // false for pairs with a score of −∞ too
    Mask live_queries;
  };
  ScoredPairs score_pairs(const Tensor& query, const PreparedKV& memory, ScoreState& state) const;
  /// Returns the scores after the position scheme and score_mod.
  Tensor scores_of(const Tensor& query, const PreparedKV& memory, const Mask& pairs, ScoreState& state) const;
  /// Returns the weights of the keys, normalised together with the sink if there is one.
  Tensor weights_of(const Tensor& scores, const Mask& pairs) const;
  /// Returns the query, with rows without visible keys set to 0, rotated by the positions.
  Tensor rotated(const Tensor& query, const Mask& live_queries, const ScoreState& state) const;
  /// Returns the options for attend(), or nothing if this call must use plain ops.
  std::optional<AttendOptions> tiled_options(const Tensor& query, const PreparedKV& memory,
                                             const ScoreState& state) const;
  void check_positions(const Tensor& query, const Tensor& keys, const ScoreState& state) const;
  /// In strict mode, throws if a row of `pairs` is empty; `what` is "mask" or "window".
  void check_strict(const Mask& live_queries, const Mask& pairs, const char* what) const;
  void check_heads(const Tensor& query, const Tensor& keys) const;

  ModulePtr<Score> score_;
  AttentionOptions options_;
  Dropout dropout_;
  std::optional<LocalWindow> local_;
  ModulePtr<PairPositions> positions_;
  std::optional<ScoreModLayer> score_mod_;
  Parameter sink_;
};

}  // namespace tapestry
