// Normalisation layers: LayerNorm and RMSNorm.
#pragma once

#include "core/ops/arithmetic.hpp"
#include "core/ops/norm.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// Layer normalisation over the last axis, of size `width` (Ba, Kiros & Hinton 2016):
///     y = (x − mean) / √(var + ε) ⊙ weight + bias
class LayerNorm : public Module {
 public:
  LayerNorm(Parent parent, Size width, double epsilon = 1e-5)
      : Module(std::move(parent)),
        weight{*this, "weight", {width}, ones},
        bias{*this, "bias", {width}, zeros},
        epsilon_(epsilon) {}
  explicit LayerNorm(Size width, double epsilon = 1e-5) : LayerNorm(Parent{}, width, epsilon) {}

  Tensor operator()(const Tensor& x, CallSite at = {}) const {
    return layer_norm(x, weight, bias, epsilon_, at);
  }

  Parameter weight, bias;  // (width) each

 private:
  double epsilon_;
};

/// Root mean square normalisation over the last axis, of size `width` (Zhang & Sennrich 2019, equation 4):
///     y = x / √(mean x² + ε) ⊙ weight
/// Throws if the last axis has another size.
class RMSNorm : public Module {
 public:
  RMSNorm(Parent parent, Size width, double epsilon = 1e-5)
      : Module(std::move(parent)), weight{*this, "weight", {width}, ones}, epsilon_(epsilon) {}
  explicit RMSNorm(Size width, double epsilon = 1e-5) : RMSNorm(Parent{}, width, epsilon) {}

  Tensor operator()(const Tensor& x) const {
    if (x.rank() < 1 || x.size(-1) != weight.size(0))
      fail("[rms_norm{}] x {} must have shape (…, {})", in_quotes(), describe(x), weight.size(0));
    return x / sqrt(mean(x * x, {-1}, Keep::yes) + epsilon_) * weight;
  }

  Parameter weight;  // (width)

 private:
  double epsilon_;
};

}  // namespace tapestry
