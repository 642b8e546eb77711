// Gradient all-reduce over all ranks in buckets, overlapped with the backward pass.
#pragma once

#include <memory>
#include <vector>

#include "core/tape/tape.hpp"
#include "optim/parallel/communicator.hpp"

namespace tapestry {

/// Settings of GradientSum.
struct GradientSumOptions {
  /// Minimum size of a bucket (except the last) in elements; no weight is split between buckets.
  Size bucket = 1 << 18;
  /// Sends each complete bucket on a separate thread while backward continues; otherwise all are sent after backward.
  bool overlap = true;
};

/// Adds the gradients of the same weights on all ranks. Buckets hold the weights from the last to the first, since
/// backward reaches the last layer first (Li et al. 2020). A bucket is sent when the gradients of all its weights are
/// complete and all earlier buckets have been sent. This order is the same on every rank, so the sums have the same
/// bits no matter when gradients arrive.
class GradientSum {
 public:
  /// Takes leaves in the same order and of one type on every rank; frozen ones are ignored. Throws Error if there are
  /// none, one is not a leaf, or their types differ.
  GradientSum(Communicator& ranks, std::vector<Tensor> weights, GradientSumOptions options = {});
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// Runs tape.backward() on share · loss and sends each bucket as its gradients become complete. It must be this
  /// rank's last backward of the step. Gradients that the weights already have are added.
  void backward(Tape& tape, const Tensor& loss, double share);
  /// Replaces backward() on a rank whose last part is empty. Sends the gradients that the weights already have.
  void skip_backward();
  /// Waits for the sums, then sets every weight's gradient to the sum over all ranks, divided by the sum of all
  /// ranks' `own_share`. Returns that sum of shares. A weight without a gradient on any rank keeps none. Throws
  /// RankFailure; the gradients are then cleared.
  double finish(double own_share);

  /// Number of buckets.
  Size buckets() const;
  /// Seconds that the all-reduce took in the last step.
  double all_reduce_seconds() const;
  /// Seconds that finish() waited in the last step.
  double wait_seconds() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace tapestry
