// Softmax and its kin, over one axis that must be named: there is no default, since the wrong one still runs.
// (logsumexp, a reduction, takes several.)
#pragma once

#include "core/ops/reduce.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// softmax: eˣ / Σ eˣ along an axis, without overflow; log_softmax: its logarithm, x − log Σ eˣ.
Tensor softmax(const Tensor& x, int axis, CallSite at = {});
Tensor log_softmax(const Tensor& x, int axis, CallSite at = {});
/// Softmax over the last axis of the places where the mask (broadcast to x's shape) is true; the others get
/// exactly 0, whatever stands there. A row with no true place is all 0, with gradient 0.
Tensor masked_softmax(const Tensor& x, const Mask& mask, CallSite at = {});
/// log Σ eˣ, without overflow; −inf where all are −inf.
Tensor logsumexp(const Tensor& x, const Dims& axes = {}, Keep keep = Keep::no, CallSite at = {});

}  // namespace tapestry
