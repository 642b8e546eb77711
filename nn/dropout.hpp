// Dropout as a layer: on while its model trains.
#pragma once

#include "core/ops/dropout.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// In training, zeroes elements with probability `rate` and scales the others by 1 / (1 − rate) (Srivastava
/// et al. 2014); in eval mode, x itself.
class Dropout : public Module {
 public:
  Dropout(Parent parent, double rate) : Module(std::move(parent)), rate_(rate) {
    if (!(rate >= 0 && rate < 1)) fail("[dropout{}] a rate lies in [0, 1), not at {}", in_quotes(), rate);
  }
  explicit Dropout(double rate) : Dropout(Parent{}, rate) {}

  Tensor operator()(const Tensor& x, CallSite at = {}) const {
    return training() && rate_ > 0 ? dropout(x, rate_, at) : x;
  }
  /// The rate, as given.
  double rate() const { return rate_; }

 private:
  double rate_;
};

}  // namespace tapestry
