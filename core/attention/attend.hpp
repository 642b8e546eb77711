// Tiled attention: softmax(score(scale·Q Kᵀ), over the unmasked pairs)·V, without the (Tq, Tk) matrix. Write
// your own score as a lambda with score_mod() or pair_score() from core/attention/score_lambda.hpp.
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

/// One more key, with value 0, which lets a query attend to nothing (Miller 2023, "Attention is off by one"; the
/// attention sink of Xiao et al. 2023, arXiv 2309.17453).
class Sink {
 public:
  /// No sink.
  Sink() = default;
  /// A sink with score 0 if `on` is true, otherwise no sink.
  template <std::same_as<bool> Bool>
  Sink(Bool on) : on_(on) {}
  /// A sink with learned scores: shape (heads), or () for one score that all heads share. Pass learned(scores).
  Sink(Learned scores) : on_(true), scores_(std::move(scores.tensor)) {}

  /// Returns true if there is a sink.
  bool on() const { return on_; }
  /// Returns the learned scores, (heads) or (); undefined without learned scores.
  const Tensor& scores() const { return scores_; }

 private:
  bool on_ = false;
  Tensor scores_;
};

/// Options of attend(). Designated initialisers must follow the order of the members; assignments need not:
///     AttendOptions options;
///     options.mask = BlockMask::causal(n, n);
struct AttendOptions {
  /// Factor of query·key, finite; none: 1/√d (Vaswani et al. 2017, section 3.2.1). Unused if `pairs` is set.
  std::optional<double> scale = {};
  /// Function of query and key that replaces the score scale·query·key; none: keep it.
  PairScore pairs = {};
  /// Pairs that may attend: a BlockMask, a Mask or ValidLengths; none: all pairs.
  AttendMask mask = {};
  /// Function that changes the scores before the softmax; none: keep them.
  ScoreMod score = {};
  /// One more key, with value 0: true for score 0, or learned(scores) for one learned score per head.
  Sink sink = {};
  /// Fraction of weights set to 0 in training, in [0, 1); the others are multiplied by 1 / (1 − dropout)
  /// (Srivastava et al. 2014). Above 0 it uses the next site of this thread's random_state().
  double dropout = 0;
  /// If true, a query whose keys are all masked throws, instead of giving an output of 0.
  bool strict = false;
};

/// Computes attention: query (…, Tq, d), key (…, Tk, d), value (…, Tk, d_v) → (…, Tq, d_v). The first leading
/// axis is the batch, the following ones are heads. Leading axes of key and value broadcast to those of query. If
/// the last leading axis of key and value is 1, its heads share them without a copy. For grouped heads pass query
/// (B, groups, heads per group, Tq, d) with key and value (B, groups, 1, Tk, …). Neither forward nor backward
/// allocates a (Tq, Tk) matrix: memory grows as Tq + Tk. Shapes, types and options that do not fit throw.
///
/// Guarantees about masked pairs, NaN and infinity. attend(), attend_by_ops() and the layer Attention keep them,
/// for values and for first and second derivatives:
///  - A key or value that the mask hides from all queries affects nothing, whatever it contains.
///  - A query without pairs (all are masked, or all have score −∞) gives exactly 0 and has gradient 0, whatever
///    the inputs contain.
///  - If a query does not see a key, finite numbers in that key and its value do not affect the query. NaN or
///    infinity in a key or value that other queries see is an error of the input. It reaches at least all of those
///    queries, unless the score drops it. It may reach every other result of the same batch row, except queries
///    without pairs.
///  - A score's value and slope at masked pairs, or in the branch that select() does not take, affect nothing,
///    even if they are NaN.
///  - A score of −∞ hides its pair as the mask does, but the key is still read: a key that only scores hide from
///    all queries must contain finite numbers. A score that turns a finite number into NaN or +∞ throws.
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const AttendOptions& options = {},
              CallSite at = {});

/// Attention to a subset of the keys. merge() combines several by the logarithms of their sums of exp(score).
struct PartialAttention {
  Tensor context;      ///< (…, Tq, d_v)
  Tensor log_sum_exp;  ///< (…, Tq); −∞ for a query without pairs, or the sink's score if there is one
};

/// Computes attend() and the log-sum-exp of each query that merge() needs.
PartialAttention attend_partial(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttendOptions& options = {}, CallSite at = {});

/// Returns the exact attention to the keys of all parts together. At most one part may have a sink. Throws if
/// there are no parts.
PartialAttention merge(std::span<const PartialAttention> parts);

/// Computes attend() from plain ops, with the full (Tq, Tk) matrix: the reference implementation, also used for
/// second derivatives.
Tensor attend_by_ops(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttendOptions& options = {});

}  // namespace tapestry
