// Layer normalisation: one kernel for forward and one for backward.
#include "core/ops/norm.hpp"

#include <array>

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/rows/rows.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

// y = z ⊙ weight + bias with z = (x − mean) / s, s = √(var + ε)
// ∂x = (dz − mean dz − z ⊙ mean (dz ⊙ z)) / s with dz = dy ⊙ weight        ∂weight = Σ dy ⊙ z        ∂bias = Σ dy
Tensor layer_norm(const Tensor& x, const Tensor& given_weight, const Tensor& given_bias, double epsilon,
                  CallSite at) {
  const Dims features{x.shape()[axis_of(x, -1)]};
  const Tensor weight = given_weight.defined() ? given_weight : ones(features, x.dtype());
  const Tensor bias = given_bias.defined() ? given_bias : zeros(features, x.dtype());
  check_same_dtype(x, weight, "layer_norm", at);
  check_same_dtype(x, bias, "layer_norm", at);
  if (weight.shape() != features || bias.shape() != features)
    fail(
        "[layer_norm] weight {} and bias {} do not fit x {}; x must be (…, n), weight and bias (n) "
        "({}:{})",
        describe(weight), describe(bias), describe(x), at.file, at.line);
  const Tensor input = contiguous(x.detach()), scale = contiguous(weight.detach()),
               shift = contiguous(bias.detach());
  Dims outer = x.shape();
  outer.erase(x.rank() - 1);
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  Tensor mean_of = Tensor::uninitialised(outer, x.dtype()), inverse = Tensor::uninitialised(outer, x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::layer_norm<T>(simd::rows_of(y.mutable_view<T>()), mean_of.mutable_data<T>(),
                        inverse.mutable_data<T>(), simd::rows_of(input.view<T>()), scale.data<T>(),
                        shift.data<T>(), static_cast<T>(epsilon));
  });
  return op<"layer_norm">(
      at, std::move(y),
      wrt_all(std::array{&x, &weight, &bias},
              [input, scale, mean_of, inverse](const Tensor& dy) {
                const Tensor from = contiguous(dy);
                Tensor dx = Tensor::uninitialised(input.shape(), input.dtype());
                Tensor dweight = Tensor::uninitialised(scale.shape(), input.dtype());
                Tensor dbias = Tensor::uninitialised(scale.shape(), input.dtype());
                dispatch(dy.dtype(), [&](auto zero) {
                  using T = decltype(zero);
                  simd::layer_norm_backward<T>(simd::rows_of(dx.mutable_view<T>()), dweight.mutable_data<T>(),
                                               dbias.mutable_data<T>(), simd::rows_of(from.view<T>()),
                                               simd::rows_of(input.view<T>()), mean_of.data<T>(),
                                               inverse.data<T>(), scale.data<T>());
                });
                return std::array{dx, dweight, dbias};
              }),
      decomposition([x, weight, bias, epsilon] {
        const Tensor centred = x - mean(x, {-1}, Keep::yes);
        return centred / sqrt(mean(centred * centred, {-1}, Keep::yes) + epsilon) * weight + bias;
      }));
}

}  // namespace tapestry
