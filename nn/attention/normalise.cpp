#include "nn/attention/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/sparse.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"
#include "nn/attention/masking.hpp"

namespace tapestry {

namespace {

/// Returns the mask expanded to the shape of the scores. Throws if it has axes that would widen the scores, which
/// where() would accept.
Mask fitted(const Mask& mask, const Tensor& scores, const char* name) {
  return mask.defined() ? mask.expand(scores.shape(), name) : mask;
}

/// Throws, naming the first such pair, if a masked pair has a weight other than 0, since a query could see a later
/// token.
void check_masked(const Tensor& weights, const Mask& mask) {
  const Tensor hidden =
      where(fitted(mask, weights, "normalise"), scalar(0, weights.dtype()), weights.detach());
  if (max(abs(hidden)).item() == 0) return;  // false for NaN too
  const std::vector<double> values = hidden.to_vector();
  const auto found = std::find_if(values.begin(), values.end(), [](double weight) { return weight != 0; });
  const Size at = found - values.begin(), keys = weights.size(-1);
  fail(
      "[normalise] a normaliser must give a masked pair the weight 0, got {} for query {} and key {} of weights {}; "
      "pass the weights through zero_masked(mask, weights)",
      *found, weights.rank() > 1 ? at / keys % weights.size(-2) : 0, at % keys, to_string(weights.shape()));
}

}  // namespace

Tensor SoftmaxWeights::operator()(const Tensor& scores, const Mask& mask) const {
  return mask.defined() ? masked_softmax(scores, mask) : softmax(scores, -1);
}

void Normaliser::check() {
  if (!function_) fail("[normalise] the function must not be empty; pass softmax_weights for softmax");
  using Plain = Tensor (*)(const Tensor&, const Mask&);
  const Plain* const plain = function_.target<Plain>();
  const Plain ours[] = {hardmax_weights,   sigmoid_weights,  sink_weights,
                        sparsemax_weights, entmax15_weights, plain_weights};
  keeps_mask_ = plain && std::find(std::begin(ours), std::end(ours), *plain) != std::end(ours);
}

Normaliser Normaliser::unchecked(Function function) {
  Normaliser result(std::move(function));
  result.keeps_mask_ = true;
  return result;
}

Tensor Normaliser::operator()(const Tensor& scores, const Mask& mask) const {
  if (!function_) return softmax_weights(scores, mask);
  Tensor weights = function_(scores, mask);
  if (weights.shape() != scores.shape())
    fail("[normalise] a normaliser must keep the shape, got weights {} from scores {}", describe(weights),
         describe(scores));
  if (!keeps_mask_ && mask.defined() && weights.count() > 0) check_masked(weights, mask);
  return weights;
}

Normaliser softmax_with_temperature(double temperature) {
  if (!(temperature > 0) || !std::isfinite(temperature))
    fail(
        "[softmax_with_temperature] temperature must be positive and finite, got {}; for 0 use hardmax_weights",
        temperature);
  return Normaliser::unchecked([temperature](const Tensor& scores, const Mask& mask) {
    return softmax_weights(scores * (1 / temperature), mask);
  });
}

Tensor hardmax_weights(const Tensor& scores, const Mask& mask) {
  const Mask allowed = fitted(mask, scores, "hardmax_weights");
  const Tensor values = scores.detach();
  if (values.count() == 0) return zeros(values.shape(), values.dtype());  // argmax needs a key
  const Tensor lowest = scalar(-std::numeric_limits<double>::infinity(), values.dtype());
  const Indices best = argmax(allowed.defined() ? where(allowed, values, lowest) : values);
  return zero_masked(allowed, one_hot(best, values.size(-1), values.dtype()));
}

Tensor sigmoid_weights(const Tensor& scores, const Mask& mask) {
  const Mask allowed = fitted(mask, scores, "sigmoid_weights");
  // Masked twice: inside, so that no masked score reaches a derivative; outside, because sigmoid(0) is ½.
  return zero_masked(allowed, sigmoid(zero_masked(allowed, scores)));
}

Tensor sink_weights(const Tensor& scores, const Mask& mask) {
  const Size keys = scores.size(-1);
  Mask allowed = fitted(mask, scores, "sink_weights");
  if (allowed.defined()) {
    const std::vector<bool> may = allowed.to_vector();
    Dims shape = scores.shape();
    shape.back() = keys + 1;
    allowed = Mask::from(keys == 0 ? shape.count() : allowed.count() / keys, keys + 1, [&](Size row, Size j) {
                return j == keys || may[static_cast<std::size_t>(row * keys + j)];
              }).reshape(shape);
  }
  return slice(softmax_weights(pad(scores, -1, 0, 1), allowed), -1, 0, keys);
}

Normaliser soft_capped(double cap) {
  if (!(cap > 0) || !std::isfinite(cap)) fail("[soft_capped] cap must be positive and finite, got {}", cap);
  return Normaliser::unchecked([cap](const Tensor& scores, const Mask& mask) {
    // Masked inside, so that no masked score reaches the derivative of tanh.
    const Mask allowed = fitted(mask, scores, "soft_capped");
    return softmax_weights(tanh(zero_masked(allowed, scores) * (1 / cap)) * cap, mask);
  });
}

Tensor sparsemax_weights(const Tensor& scores, const Mask& mask) { return sparsemax(scores, mask); }

Tensor entmax15_weights(const Tensor& scores, const Mask& mask) { return entmax15(scores, mask); }

Tensor plain_weights(const Tensor& scores, const Mask& mask) {
  return zero_masked(fitted(mask, scores, "plain_weights"), scores);
}

}  // namespace tapestry
