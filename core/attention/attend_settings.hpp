// What the options of attend() come to for the sizes at hand: shared by the kernel and the reference.
#pragma once

#include "core/attention/attend.hpp"
#include "core/tensor/pool_vector.hpp"
#include "core/tensor/random.hpp"

namespace tapestry::detail {

struct AttendSettings {
  double scale = 1;
  BlockMask mask;
  PairScore pairs;
  ScoreMod score;
  Sink sink;
  double dropout = 0;
  Stream stream{0, 0};  // of dropout
};

/// Throws unless all fits; then the options for these sizes.
AttendSettings settings_of(const Tensor& query, const Tensor& key, const Tensor& value,
                           const AttendOptions& options, CallSite at);

/// What is learned: by pairs, by score, by the sink.
PoolVector<Tensor> learned_of(const AttendSettings& settings);

/// Of x (batch, heads…, rows, columns).
Size batch_of(const Tensor& x);
Size heads_of(const Tensor& x);

/// Leading axes of x as those of the query, but for a last one of 1, which the query's heads share.
Tensor broadcast_batch_dims(const Tensor& query, const Tensor& x, bool shared);

/// The result of attend() from plain ops; with the log-sum-exp behind it (…, Tq, d_v + 1) if that is asked for.
Tensor by_ops(const Tensor& query, const Tensor& key, const Tensor& value, const AttendSettings& settings,
              bool with_lse);

}  // namespace tapestry::detail
