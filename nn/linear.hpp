// The affine layer: y = x Wᵀ + b.
#pragma once

#include "core/ops/matmul.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// Option of a layer: without or with a learned bias vector.
enum class Bias { no, yes };

/// Maps x (…, in) to x Wᵀ + b (…, out). The shapes of weight (out, in) and bias (out) are PyTorch's.
class Linear : public Module {
 public:
  /// `initialiser` sets the first values of the weight, and `first_bias` those of the bias.
  Linear(Parent parent, Size in, Size out, Bias with_bias = Bias::yes, Initialiser initialiser = xavier,
         Initialiser first_bias = zeros)
      : Module(std::move(parent)),
        weight{*this, "weight", {out, in}, std::move(initialiser)},
        bias(with_bias == Bias::yes ? Parameter{*this, "bias", {out}, std::move(first_bias)} : Parameter{}) {}
  Linear(Size in, Size out, Bias with_bias = Bias::yes, Initialiser initialiser = xavier,
         Initialiser first_bias = zeros)
      : Linear(Parent{}, in, out, with_bias, std::move(initialiser), std::move(first_bias)) {}

  Tensor operator()(const Tensor& x, CallSite at = {}) const { return linear(x, weight, bias, at); }

  /// weight (out, in) and bias (out). Without a bias, `bias` is an empty handle.
  Parameter weight, bias;
};

}  // namespace tapestry
