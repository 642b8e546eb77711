// The affine layer: y = x Wᵀ + b.
#pragma once

#include "core/ops/matmul.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// Whether a layer adds a learned vector.
enum class Bias { no, yes };

/// x (…, in) → x Wᵀ + b (…, out), with weight (out, in) and bias (out) as PyTorch keeps them.
class Linear : public Module {
 public:
  Linear(Parent parent, Size in, Size out, Bias with_bias = Bias::yes, Initialiser initialiser = xavier)
      : Module(std::move(parent)),
        weight{*this, "weight", {out, in}, std::move(initialiser)},
        bias(with_bias == Bias::yes ? Parameter{*this, "bias", {out}, zeros} : Parameter{}) {}
  Linear(Size in, Size out, Bias with_bias = Bias::yes, Initialiser initialiser = xavier)
      : Linear(Parent{}, in, out, with_bias, std::move(initialiser)) {}

  Tensor operator()(const Tensor& x, CallSite at = {}) const { return linear(x, weight, bias, at); }

  /// weight (out, in) and bias (out), which is an empty handle if there is none.
  Parameter weight, bias;
};

}  // namespace tapestry
