// The dropout layer, active in training mode only.
#pragma once

#include "core/ops/dropout.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// In training mode, zeroes elements with probability `rate` and scales the others by 1 / (1 − rate)
/// (Srivastava et al. 2014). In eval mode, returns x unchanged. Throws unless 0 ≤ rate < 1.
class Dropout : public Module {
 public:
  Dropout(Parent parent, double rate) : Module(std::move(parent)), rate_(rate) {
    if (!(rate >= 0 && rate < 1))
      fail("[dropout{}] rate must be at least 0 and below 1, got {}", in_quotes(), rate);
  }
  explicit Dropout(double rate) : Dropout(Parent{}, rate) {}

  Tensor operator()(const Tensor& x, CallSite at = {}) const {
    return training() && rate_ > 0 ? dropout(x, rate_, at) : x;
  }
  /// Probability of zeroing an element in training.
  double rate() const { return rate_; }

 private:
  double rate_;
};

}  // namespace tapestry
