// Softmax, log-softmax, masked softmax and logsumexp. The axis of a softmax has no default, because a wrong axis
// would run without an error.
#pragma once

#include "core/ops/reduce.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// softmax returns eˣ / Σ eˣ along an axis, log_softmax its logarithm x − log Σ eˣ. Neither overflows.
Tensor softmax(const Tensor& x, int axis, CallSite at = {});
Tensor log_softmax(const Tensor& x, int axis, CallSite at = {});
/// Softmax over the unmasked elements of the last axis. The mask broadcasts to x's shape. Masked elements get exactly
/// 0, even if they are NaN. A fully masked row is all 0, with gradient 0.
Tensor masked_softmax(const Tensor& x, const Mask& mask, CallSite at = {});
/// log Σ eˣ over `axes` (all by default), without overflow; −∞ if all elements are −∞.
Tensor logsumexp(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});

}  // namespace tapestry
