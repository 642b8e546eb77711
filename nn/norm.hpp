// Normalisation layers.
#pragma once

#include "core/ops/norm.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// (x − mean) / √(var + ε) ⊙ weight + bias over the last axis, of this width (Ba, Kiros & Hinton 2016).
class LayerNorm : public Module {
 public:
  LayerNorm(Place place, Size width, double epsilon = 1e-5)
      : Module(std::move(place)),
        weight{*this, "weight", {width}, ones},
        bias{*this, "bias", {width}, zeros},
        epsilon_(epsilon) {}
  explicit LayerNorm(Size width, double epsilon = 1e-5) : LayerNorm(Place{}, width, epsilon) {}

  Tensor operator()(const Tensor& x, Where at = {}) const {
    return layer_norm(x, weight, bias, epsilon_, at);
  }

  Parameter weight, bias;

 private:
  double epsilon_;
};

}  // namespace tapestry
