// Dropout, with its random numbers from this thread's state or from a given stream.
#pragma once

#include "core/tensor/random.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Zeroes elements with probability `rate` and scales the others by 1 / (1 − rate) (Srivastava et al. 2014).
/// Draws from this thread's random_state() and takes its next site. Throws Error unless 0 ≤ rate < 1.
Tensor dropout(const Tensor& x, double rate, CallSite at = {});
/// Draws from a given stream instead. Does not check the rate.
Tensor dropout(const Tensor& x, double rate, const Stream& stream, CallSite at = {});

}  // namespace tapestry
