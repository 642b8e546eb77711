// Layer norm.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// (x − mean) / √(var + ε) ⊙ gain + bias over the last axis (Ba, Kiros & Hinton 2016): x (…, n), gain and
/// bias (n). Without a gain it is 1, without a bias 0.
Tensor layer_norm(const Tensor& x, const Tensor& gain = {}, const Tensor& bias = {}, double epsilon = 1e-5,
                  CallSite at = {});

}  // namespace tapestry
