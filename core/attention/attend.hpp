// Tiled attention: softmax(score(scale·Q Kᵀ))·V over unmasked pairs of query and key, without the (Tq, Tk) matrix. The
// loop over tiles is in core/simd/attention/forward.cpp. To write a score as a lambda, see score_lambda.hpp.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <utility>

#include "core/attention/block_mask.hpp"
#include "core/attention/learned.hpp"
#include "core/attention/pair_score.hpp"
#include "core/attention/score_mod.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// An attention sink (Xiao et al. 2023, arXiv 2309.17453): an extra key with value 0 in each softmax, so that a query
/// can attend to nothing (Miller 2023, "Attention is off by one").
class Sink {
 public:
  /// No sink.
  Sink() = default;
  /// A sink with score 0 if `on` is true, otherwise no sink.
  template <std::same_as<bool> Bool>
  Sink(Bool on) : on_(on) {}
  /// A sink with learned(scores), of shape (heads), or () for one score that all heads share.
  Sink(Learned scores) : on_(true), scores_(std::move(scores.tensor)) {}
  /// Fails to compile: a sink's scores are trained, so they must be passed as learned(scores).
  template <std::derived_from<Tensor> Scores>
  Sink(const Scores&) {
    static_assert(sizeof(Scores) == 0, "a sink's scores must be marked as learned: .sink = learned(w)");
  }

  /// Returns true if there is a sink.
  bool defined() const { return on_; }
  /// Returns the learned scores, (heads) or (); undefined without learned scores.
  const Tensor& scores() const { return scores_; }

 private:
  bool on_ = false;
  Tensor scores_;
};

/// Options of attend(). Designated initialisers must be in the order of the members; assignments may be in any order:
///     AttendOptions options;
///     options.mask = BlockMask::causal(n, n);
struct AttendOptions {
  /// Finite number by which query·key is multiplied. Default: 1/√d (Vaswani et al. 2017, section 3.2.1). Unused if
  /// `pair_score` is set.
  std::optional<double> scale = {};
  /// Function of query and key, used as the score instead of scale·query·key. Default: none.
  PairScore pair_score = {};
  /// A BlockMask, Mask or ValidLengths: true where a query may attend to a key. Default: true for all pairs.
  AttendMask mask = {};
  /// Function that changes each score before the softmax. Default: no change.
  ScoreMod score_mod = {};
  /// Extra key with value 0: true for score 0, or learned(scores) with one score per head or one for all heads.
  /// Default: no sink.
  Sink sink = {};
  /// Probability in [0, 1) of setting a weight to 0; the others are multiplied by 1 / (1 − dropout) (Srivastava et al.
  /// 2014). If dropout > 0, each call draws from a new random stream and advances this thread's random_state().
  /// attend() has no eval mode: pass 0 outside training.
  double dropout = 0;
  /// If true, attend() throws Error if the mask leaves a query no key. If false, the result of such a query is 0.
  bool strict = false;
};

/// Computes attention: query (…, Tq, d), key (…, Tk, d), value (…, Tk, d_v) → (…, Tq, d_v). The first leading axis is
/// the batch; the others are heads. The leading axes of key and value broadcast to those of query. If the last leading
/// axis of both key and value has size 1, the query heads along it share keys and values, which are not copied. So for
/// grouped-query attention, pass query (B, groups, heads per group, Tq, d) with key and value (B, groups, 1, Tk, …).
/// Neither forward nor backward allocates a (Tq, Tk) matrix of scores. Apart from the inputs and the mask, memory grows
/// as Tq + Tk. A mask takes one entry per tile of 48 × 96 pairs, and 48 × 96 bytes for each distinct, partly masked
/// tile. Throws Error if shapes, types or options do not fit.
///
/// The rest of this comment is about masked pairs, NaN and infinity. It holds for the results and the first and second
/// derivatives of attend(), attend_by_ops() and the Attention layer.
///
/// These are harmless:
///  - A key or value that the mask hides from all queries. It affects nothing, whatever it contains.
///  - A query without pairs: all its pairs are masked or have score −∞. Its result and its gradient are exactly 0,
///    whatever the inputs contain.
///  - Finite numbers in the key and value of a masked pair. They do not affect the result of the pair's query.
///  - A NaN value or derivative of a score at a masked pair, or in the branch that select() does not take. It affects
///    nothing.
///  - A score of −∞. It hides its pair as the mask does, but the key is still read. So a key that is hidden from all
///    queries by scores alone, not by the mask, must contain finite numbers.
///
/// Do not pass NaN or infinity in a query that has pairs, or in a key or value that some query may attend to. If you
/// do:
///  - NaN reaches at least the results of this query or these queries, unless the score ignores it (for example, in a
///    branch of select() that is not taken). Infinity may reach it.
///  - Both may also reach all other results and gradients of the same batch row, except those of queries without pairs.
///
/// Throws Error if `score` maps a finite number to NaN or +∞. Also throws if the score of an unmasked pair from
/// `pair_score`, after `score`, is NaN or +∞ although its query and key are finite.
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const AttendOptions& options = {},
              CallSite at = {});

/// Fails to compile: a mask is passed as an option.
template <class M>
requires std::convertible_to<M, AttendMask> Tensor attend(const Tensor& query, const Tensor&, const Tensor&,
                                                          const M&, CallSite = {}) {
  static_assert(sizeof(M) == 0, "attend: the mask must be an option: attend(q, k, v, {.mask = mask})");
  return query;
}

/// Attention to a part of the keys, with the log-sum-exp of the scores, which merge() needs to combine the parts.
struct PartialAttention {
  Tensor context;      ///< (…, Tq, d_v)
  Tensor log_sum_exp;  ///< (…, Tq); −∞ for a query without pairs, or the sink's score if there is one
};

/// Computes the result of attend() and the log-sum-exp of each query's scores. Throws in the same cases as attend().
PartialAttention attend_partial(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttendOptions& options = {}, CallSite at = {});

/// Returns the exact attention to the keys of all parts together. Each key must occur in exactly one part, and at most
/// one part may have a sink. Throws Error if there are no parts.
PartialAttention merge(std::span<const PartialAttention> parts);

/// Computes the same as attend() from plain ops, with the full (Tq, Tk) matrix: the reference, which is also used
/// for second derivatives. Throws in the same cases as attend().
Tensor attend_by_ops(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttendOptions& options = {}, CallSite at = {});

}  // namespace tapestry
