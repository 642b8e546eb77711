#include "nn/quantised_linear.hpp"

#include <utility>

#include "core/ops/arithmetic.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

QuantisedLinear::QuantisedLinear(QuantisedMatrix weight_in, Tensor bias_in, CallSite at)
    : weight(std::move(weight_in)) {
  if (!bias_in.defined()) return;
  if (bias_in.shape() != Dims{weight.rows()} || bias_in.dtype() != DType::f32)
    fail(
        "[QuantisedLinear] bias must be ({}) in f32 for a weight ({},{}), got {} in {}; pass one number for each row "
        "({}:{})",
        weight.rows(), weight.rows(), weight.columns(), describe(bias_in), name_of(bias_in.dtype()), at.file,
        at.line);
  bias = zeros(bias_in.shape());
  assign(bias, bias_in);
}

Tensor QuantisedLinear::operator()(const Tensor& x, CallSite at) const {
  const Tensor y = quantised_matmul(x, weight, arithmetic, at);
  return bias.defined() ? y + bias : y;
}

QuantisedLinear quantise(const Linear& layer, BlockType type, CallSite at) {
  const Tensor& bias = layer.bias;
  return QuantisedLinear(quantise(static_cast<const Tensor&>(layer.weight), type, at), bias, at);
}

}  // namespace tapestry
