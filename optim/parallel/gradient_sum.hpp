// Gradients of all ranks, added up in buckets while backward still runs.
#pragma once

#include <memory>
#include <vector>

#include "core/tape/tape.hpp"
#include "optim/parallel/communicator.hpp"

namespace tapestry {

struct GradientSumOptions {
  /// Numbers in a bucket, at least; a weight is in one bucket, whole.
  Size bucket = 1 << 18;
  /// Send a bucket as soon as it is full, on a thread of its own, while backward goes on; else after backward.
  bool overlap = true;
};

/// Adds the gradients of the same weights on all ranks. The weights lie in buckets from the last to the first, since
/// backward comes to the last layer first (Li and others 2020). A bucket is sent when the gradients of all its
/// weights are complete and all buckets before it are on their way: the same order on every rank, so that the sums
/// are the same bits whatever arrives when.
class GradientSum {
 public:
  /// `weights`: leaves, in the same order and of one type on every rank; frozen ones take no part. Throws if they
  /// are of several types.
  GradientSum(Communicator& ranks, std::vector<Tensor> weights, GradientSumOptions options = {});
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// tape.backward(loss) times `share`, the last of this rank's in this step: what it completes goes on its way.
  /// Gradients that the weights have already are added.
  void backward(Tape& tape, const Tensor& loss, double share);
  /// In place of backward() on a rank that has nothing to do in this step.
  void nothing();
  /// Waits, and replaces every weight's gradient by the sum over all ranks, divided by the sum of what they gave as
  /// `own_share`; one that no rank has a gradient for keeps none. Returns that sum. Throws RankFailure; the gradients are
  /// then gone.
  double finish(double own_share);

  /// How many buckets the weights fill.
  Size buckets() const;
  /// Seconds, in the last step: the ranks talked(), and the caller waited() for it.
  double talked() const;
  double waited() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace tapestry
