#include "nn/attention/normalise.hpp"

#include <cmath>
#include <limits>

#include "core/create.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "nn/attention/visibility.hpp"

namespace tapestry {

namespace {

/// The mask in the scores' shape: unlike where(), it must not widen them.
Mask fitted(const Mask& mask, const Tensor& scores, const char* name) {
  return mask.defined() ? mask.expand(scores.shape(), name) : mask;
}

}  // namespace

Tensor softmax_weights(const Tensor& scores, const Mask& mask) {
  return mask.defined() ? masked_softmax(scores, mask) : softmax(scores, -1);
}

Normaliser softmax_with_temperature(double temperature) {
  if (!(temperature > 0) || !std::isfinite(temperature))
    fail("[softmax_with_temperature] a temperature is above 0, not {}; for 0 take hardmax_weights",
         temperature);
  return [temperature](const Tensor& scores, const Mask& mask) {
    return softmax_weights(scores * (1 / temperature), mask);
  };
}

Tensor hardmax_weights(const Tensor& scores, const Mask& mask) {
  const Mask allowed = fitted(mask, scores, "hardmax_weights");
  const Tensor values = scores.detach();
  const Tensor lowest = scalar(-std::numeric_limits<double>::infinity(), values.dtype());
  const Indices best = argmax(allowed.defined() ? where(allowed, values, lowest) : values);
  return keep(allowed, one_hot(best, values.size(-1), values.dtype()));
}

Tensor sigmoid_weights(const Tensor& scores, const Mask& mask) {
  const Mask allowed = fitted(mask, scores, "sigmoid_weights");
  // Kept twice: inside so that no masked score meets a derivative, outside since sigmoid(0) is a half.
  return keep(allowed, sigmoid(keep(allowed, scores)));
}

Tensor plain_weights(const Tensor& scores, const Mask& mask) {
  return keep(fitted(mask, scores, "plain_weights"), scores);
}

}  // namespace tapestry
