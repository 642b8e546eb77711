// Cross-entropy, fused with its softmax. One kernel computes the losses and the gradient; backward only multiplies the
// gradient by dy (1 for a loss). The logits are saved for second derivatives.
#include "core/ops/loss.hpp"

#include <algorithm>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/simd/rows/rows.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

/// Cross-entropy from plain ops: (1 − ε) times the target's −log p plus ε times the mean −log p over all classes.
Tensor plain_cross_entropy(const Tensor& logits, const Indices& targets, CrossEntropy options, Size counted) {
  std::vector<std::int64_t> ids = targets.to_vector();
  for (std::int64_t& id : ids)
    if (id == options.ignore) id = 0;
  Dims column = targets.shape();
  column.push_back(1);
  const Mask ignored = equal(targets, options.ignore);
  const Tensor nothing = scalar(0.0, logits.dtype());
  const Tensor log_p = log_softmax(where(ignored.unsqueeze(-1), nothing, logits), -1);
  Tensor losses = -(1.0 - options.smoothing) * squeeze(gather(log_p, -1, Indices(ids, column)), -1);
  if (options.smoothing > 0.0) losses = losses - options.smoothing * mean(log_p, {-1});
  losses = where(ignored, nothing, losses);
  if (options.reduce == Reduce::none) return losses;
  return options.reduce == Reduce::sum ? sum(losses) : sum(losses) / static_cast<double>(counted);
}

}  // namespace

// yᵢ = −Σ_c pᵢ_c log softmax(xᵢ)_c with pᵢ = (1 − ε) one-hot(targetᵢ) + ε / classes
// ∂xᵢ = dyᵢ (softmax(xᵢ) − pᵢ)
Tensor cross_entropy(const Tensor& logits, const Indices& targets, CrossEntropy options, CallSite at) {
  Dims outer = logits.shape();
  if (outer.rank() > 0) outer.erase(outer.rank() - 1);
  if (logits.rank() == 0 || targets.shape() != outer)
    fail("[cross_entropy] targets {} do not fit logits {}; logits must be (…, classes), targets (…) ({}:{})",
         to_string(targets.shape()), describe(logits), at.file, at.line);
  if (!(options.smoothing >= 0.0 && options.smoothing < 1.0))
    fail("[cross_entropy] smoothing must be in [0, 1), got {} ({}:{})", options.smoothing, at.file, at.line);
  const Indices ids = targets.reshape({outer.count()});  // dense
  const Size rows = ids.count(), classes = logits.shape().back();
  Size counted = 0;
  for (Size row = 0; row < rows; ++row) {
    const std::int64_t id = ids.data()[row];
    if (id == options.ignore) continue;
    if (id < 0 || id >= classes)
      fail(
          "[cross_entropy] target {} in row {} of {} must be one of the {} classes of logits {}, or {} for an "
          "ignored row ({}:{})",
          id, row, rows, classes, describe(logits), options.ignore, at.file, at.line);
    ++counted;
  }

  const bool per_row = options.reduce == Reduce::none;
  const double share =
      options.reduce == Reduce::mean ? 1.0 / static_cast<double>(std::max<Size>(1, counted)) : 1.0;
  const Tensor x = contiguous(logits.detach());
  Tensor losses = Tensor::uninitialised(outer, x.dtype()), gradient;
  if (records(logits)) gradient = Tensor::uninitialised(x.shape(), x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::cross_entropy<T>(losses.mutable_data<T>(),
                           gradient.defined() ? simd::rows_of(gradient.mutable_view<T>()) : simd::Rows<T>{},
                           simd::rows_of(x.view<T>()), {ids.data(), options.ignore, options.smoothing},
                           static_cast<T>(share));
  });
  Tensor y = per_row ? losses : share * sum(losses);
  return op<"cross_entropy">(
      at, std::move(y),
      wrt(logits,
          [gradient, targets, ignore = options.ignore, per_row](const Tensor& dy) {
            if (!per_row && dy.item() == 1.0) return gradient;
            // An ignored row must get 0 for an infinite dy, too.
            const Tensor nothing = scalar(0.0, dy.dtype());
            return unsqueeze(where(equal(targets, ignore), nothing, dy), -1) * gradient;
          }),
      decomposition([logits, targets, options, counted] {
        return plain_cross_entropy(logits, targets, options, std::max<Size>(1, counted));
      }));
}

}  // namespace tapestry
