// Dropout, with random numbers from this thread's random_state() or from a given stream.
#pragma once

#include "core/tensor/random.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Zeroes elements with probability `rate` and scales the others by 1 / (1 − rate) (Srivastava et al. 2014).
/// Each call draws from a new random stream, next_stream(). Throws Error unless 0 ≤ rate < 1.
Tensor dropout(const Tensor& x, double rate, CallSite at = {});
/// Same, with random numbers from `stream`. Does not check the rate.
Tensor dropout(const Tensor& x, double rate, const Stream& stream, CallSite at = {});

}  // namespace tapestry
