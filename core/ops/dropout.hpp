// Dropout.
#pragma once

#include "core/tensor/random.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Zeroes elements with probability `rate` and scales the others by 1 / (1 − rate) (Srivastava et al. 2014).
/// Draws from this thread's random_state() and takes its next site.
Tensor dropout(const Tensor& x, double rate, CallSite at = {});
/// The same from a stream that was taken before.
Tensor dropout(const Tensor& x, double rate, const Stream& stream, CallSite at = {});

}  // namespace tapestry
