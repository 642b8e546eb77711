// The affine layer with block-quantised weights, for inference: y = x Wᵀ + b.
#pragma once

#include "core/quantised/matrix.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// Maps x (…, in) in f32 to x Wᵀ + b (…, out), as Linear does. The weights are constants, so the layer has no
/// parameters. Calling it throws Error if a tape would record x.
class QuantisedLinear {
 public:
  /// Takes the weight (out, in) and optionally a bias (out) in f32. Throws Error if their sizes differ.
  explicit QuantisedLinear(QuantisedMatrix weight, Tensor bias = {}, CallSite at = {});

  Tensor operator()(const Tensor& x, CallSite at = {}) const;

  /// Weight (out, in), and bias (out) or an empty handle.
  QuantisedMatrix weight;
  Tensor bias;
  /// Arithmetic of the product; f32 multiplies the dequantised weights, for comparisons.
  QuantisedArithmetic arithmetic = QuantisedArithmetic::int8;
};

/// Returns a layer with the weight of `layer` in blocks and a copy of its bias. Throws Error if the weight is
/// not in f32 and as quantise() of a matrix does.
QuantisedLinear quantise(const Linear& layer, BlockType type, CallSite at = {});

}  // namespace tapestry
