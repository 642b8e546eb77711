// Attention without its matrix: softmax(score(scale·Q Kᵀ), over the pairs that count)·V in tiles. Scores of
// your own are lambdas: core/attention/score_lambda.hpp has score_mod() and pair_score(), which make them.
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

/// One more key of value 0: a query may look at nothing (Miller 2023, "Attention is off by one"; the sink of
/// Xiao et al. 2023, arXiv 2309.17453).
class Sink {
 public:
  /// None.
  Sink() = default;
  /// With score 0.
  template <std::same_as<bool> Bool>
  Sink(Bool on) : on_(on) {}
  /// With a learned score, (heads) or one for all, (). Written learned(scores).
  Sink(Learned scores) : on_(true), scores_(std::move(scores.tensor)) {}

  /// Whether there is one.
  bool on() const { return on_; }
  /// Undefined where the score is 0.
  const Tensor& scores() const { return scores_; }

 private:
  bool on_ = false;
  Tensor scores_;
};

/// Designated initialisers keep the order of the members, as C++ wants it; assignments go in any order:
///     AttendOptions options;
///     options.mask = BlockMask::causal(n, n);
struct AttendOptions {
  /// Of query·key; none: 1/√d (Vaswani et al. 2017, section 3.2.1).
  std::optional<double> scale = {};
  /// What makes the scores instead of scale·query·key.
  PairScore pairs = {};
  /// Which pairs count, a BlockMask, a Mask or ValidLengths; none: all.
  AttendMask mask = {};
  /// What is done to the scores; none: nothing.
  ScoreMod score = {};
  /// One more key to look at: true, or learned(scores) for a learned score of each head.
  Sink sink = {};
  /// The share of weights that become 0, the others times 1 / (1 − dropout) (Srivastava et al. 2014): for
  /// training. Above 0 it takes the next site of this thread's random_state().
  double dropout = 0;
  /// A query with nothing to attend to is an error, instead of an output of 0.
  bool strict = false;
};

/// query (…, Tq, d), key (…, Tk, d), value (…, Tk, d_v) → (…, Tq, d_v). The first leading axis is the batch,
/// those after it are heads. Leading axes of key and value broadcast to the query's; a last one of 1 is
/// shared by its heads without a copy: grouped heads are query (B, groups, heads of a group, Tq, d) with key
/// and value (B, groups, 1, Tk, …). No (Tq, Tk) matrix is made, forward or backward: memory grows as Tq + Tk.
///
/// What is promised of hidden pairs, NaN and infinity, here, by ops and in the layer Attention, for values,
/// first and second derivatives:
///  - A key or value that the mask hides from all queries touches nothing, whatever stands there.
///  - A query with no pairs, by the mask or since all its scores are −∞, gives exactly 0 and has gradient 0,
///    whatever stands in it or elsewhere.
///  - At a key that others see, any finite number changes nothing for a query that does not see it. NaN and
///    infinity there are faults of the input: they reach at least all who see it, unless the score drops
///    them, and may reach every other result of the same batch row but those of queries with no pairs.
///  - What a score gives at pairs that the mask hides, and in the branch that select() does not take, touches
///    nothing: neither its value nor its slope, NaN or not.
///  - A score of −∞ hides its pair as the mask does; only the key is still read, so if scores alone hide it
///    from all, it has to hold numbers. NaN or +∞ made of a finite score throws.
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const AttendOptions& options = {},
              CallSite at = {});

/// Attention to some of the keys: its context and the logarithm of its sum of exp(score), by which it is
/// merged with attention to others.
struct PartialAttention {
  Tensor context;      ///< (…, Tq, d_v)
  Tensor log_sum_exp;  ///< (…, Tq); −∞ for a query with no pairs
};

/// As attend(), and what it takes to merge() the result.
PartialAttention attend_partial(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttendOptions& options = {}, CallSite at = {});

/// Attention to the keys of all parts together, exactly; only one part may have a sink.
PartialAttention merge(std::span<const PartialAttention> parts);

/// The same as attend() from plain ops, matrix and all: the reference, and what second derivatives run
/// through.
Tensor attend_by_ops(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttendOptions& options = {});

}  // namespace tapestry
