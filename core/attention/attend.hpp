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
  bool on() const { return on_; }
  /// Returns the learned scores, (heads) or (); undefined without learned scores.
  const Tensor& scores() const { return scores_; }

 private:
  bool on_ = false;
  Tensor scores_;
};

/// Options of attend(). Designated initialisers must follow the order of the members. Assignments need not:
///     AttendOptions options;
///     options.mask = BlockMask::causal(n, n);
struct AttendOptions {
  /// Finite number by which query·key is multiplied. Default: 1/√d (Vaswani et al. 2017, section 3.2.1). Unused if
  /// `pairs` is set.
  std::optional<double> scale = {};
  /// Function of query and key, used as the score instead of scale·query·key. Default: none.
  PairScore pairs = {};
  /// A BlockMask, Mask or ValidLengths: true where a query may attend to a key. Default: true for all pairs.
  AttendMask mask = {};
  /// Function that changes each score before the softmax. Default: no change.
  ScoreMod score = {};
  /// Extra key with value 0: true for score 0, or learned(scores) for one learned score per head. Default: no sink.
  Sink sink = {};
  /// Probability in [0, 1) of setting a weight to 0; the others are multiplied by 1 / (1 − dropout) (Srivastava et al.
  /// 2014). If dropout > 0, each call draws from a new random stream and advances this thread's random_state().
  /// attend() has no eval mode: pass 0 outside training.
  double dropout = 0;
  /// If true, attend() throws Error if the mask leaves a query no key. If false, the result of such a query is 0.
  bool strict = false;
};

/// Computes attention: query (…, Tq, d), key (…, Tk, d), value (…, Tk, d_v) → (…, Tq, d_v). The first leading axis is
/// the batch; the others are heads. The leading axes of key and value broadcast to those of query. Where their last
/// leading axis has size 1, the query heads along it share keys and values without a copy. So for grouped-query
/// attention, pass query (B, groups, heads per group, Tq, d) with key and value (B, groups, 1, Tk, …). Neither
/// forward nor backward allocates a (Tq, Tk) matrix: memory grows as Tq + Tk. Throws Error if shapes, types or
/// options do not fit.
///
/// Masked pairs, NaN and infinity: the following holds for attend(), attend_by_ops() and the Attention layer, for
/// results and for first and second derivatives.
///
/// You may pass:
///  - A key or value that the mask hides from all queries. It affects nothing, whatever it contains.
///  - A query without pairs (all pairs are masked or have score −∞). It gets the result 0 and the gradient 0 exactly,
///    whatever the inputs contain.
///  - Finite numbers in the key and value of a masked pair. They do not affect the result of the pair's query.
///  - A score whose value or derivative is NaN at masked pairs, or in the branch that select() does not take. This
///    affects nothing.
///  - A score of −∞. It hides its pair like the mask, but the key is still read. So a key that is hidden from all
///    queries by scores alone, not by the mask, must contain finite numbers.
///
/// Do not pass NaN or infinity in a key or value whose pair with some query is unmasked. If you do:
///  - It reaches the results of at least these queries, unless the score ignores it (for example, in a branch of
///    select() that is not taken).
///  - It may also reach all other results of the same batch row, except those of queries without pairs.
///
/// If a score maps a finite number to NaN or +∞, attend() throws Error.
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
                     const AttendOptions& options = {});

}  // namespace tapestry
