// Layer normalisation.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Returns (x − mean) / √(var + ε) ⊙ weight + bias, where the mean and the population variance are over the last axis
/// (Ba, Kiros & Hinton 2016): x (…, n), weight and bias (n). The default weight is 1, the default bias 0. Throws Error
/// for other shapes.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double epsilon = 1e-5,
                  CallSite at = {});

}  // namespace tapestry
