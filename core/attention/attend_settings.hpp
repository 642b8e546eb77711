// The options of attend(), resolved for the sizes of its inputs. The kernel and the reference share them.
#pragma once

#include "core/attention/attend.hpp"
#include "core/tensor/pool_vector.hpp"
#include "core/tensor/random.hpp"

namespace tapestry::detail {

/// Resolved options; see AttendOptions for their meaning.
struct AttendSettings {
  double scale = 1;
  BlockMask mask;
  PairScore pair_score;
  ScoreMod score_mod;
  Sink sink;
  double dropout = 0;
  Stream stream{0, 0};  // of dropout
};

/// Checks shapes, types and options, and returns the options for these sizes. Throws Error if anything does not
/// fit. With dropout it takes the next stream of random_state().
AttendSettings settings_of(const Tensor& query, const Tensor& key, const Tensor& value,
                           const AttendOptions& options, CallSite at);

/// Returns the learned tensors: those of pair_score, then of score_mod, then of the sink.
PoolVector<Tensor> learned_of(const AttendSettings& settings);

/// Batch size and total number of heads of x (batch, heads…, rows, columns).
Size batch_of(const Tensor& x);
Size heads_of(const Tensor& x);

/// Expands the leading axes of x to those of query. If `shared`, the last leading axis keeps size 1: the heads along
/// it share x.
Tensor broadcast_batch_dims(const Tensor& query, const Tensor& x, bool shared);

/// Computes attend() from plain ops. If `with_lse`, appends the log-sum-exp as a last column: (…, Tq, d_v + 1).
Tensor by_ops(const Tensor& query, const Tensor& key, const Tensor& value, const AttendSettings& settings,
              bool with_lse, CallSite at);

}  // namespace tapestry::detail
