// The affine layer with block-quantised weights, for inference: y = x Wᵀ + b.
#pragma once

#include "core/quantised/matrix.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// Maps x (…, in) in f32 to x Wᵀ + b (…, out), as Linear does. The weights are constants, so the layer has no
/// parameters. Calling it throws Error if a tape would record x.
class QuantisedLinear {
 public:
  /// Takes the weight (out, in) and optionally a bias (out) in f32. Throws Error if the bias has another size or type.
  explicit QuantisedLinear(QuantisedMatrix weight, Tensor bias = {}, CallSite at = {});

  Tensor operator()(const Tensor& x, CallSite at = {}) const;

  /// Weight (out, in), and bias (out) or an empty handle.
  QuantisedMatrix weight;
  Tensor bias;
  /// Arithmetic of the product; f32 multiplies the dequantised weights, for comparisons.
  QuantisedArithmetic arithmetic = QuantisedArithmetic::int8;
};

/// Returns a layer with the quantised weight and a copy of the bias of `layer`. Throws Error if the weight is not in
/// f32, and in the cases of quantise() for a matrix.
QuantisedLinear quantise(const Linear& layer, BlockType type, CallSite at = {});

}  // namespace tapestry
