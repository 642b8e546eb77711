#include "nn/attention/hard.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/arithmetic.hpp"
#include "core/ops/loss.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/tensor/create.hpp"
#include "nn/attention/masking.hpp"

namespace tapestry {

Tensor gumbel_noise(const Dims& shape, const Stream& stream, DType dtype) {
  check_shape(shape);
  Tensor noise = Tensor::uninitialised(shape, dtype);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = noise.mutable_data<T>();
    for (Size i = 0; i < noise.count(); ++i) {
      // log1p(−u) = ln(1 − u) is exact near u = 0, where 1 − u is rounded. u itself is 0 once in 2⁵³ draws.
      const double u = std::max(stream.uniform(static_cast<std::uint64_t>(i)), 0x1p-54);
      out[i] = static_cast<T>(-std::log(-std::log1p(-u)));
    }
  });
  return noise;
}

Normaliser gumbel_softmax(double temperature, GumbelKind kind) {
  if (!(temperature > 0) || !std::isfinite(temperature))
    fail("[gumbel_softmax] temperature must be positive and finite, got {}; use choose() for one key",
         temperature);
  return Normaliser::unchecked([temperature, kind](const Tensor& scores, const Mask& mask) {
    const Tensor noisy = scores + gumbel_noise(scores.shape(), next_stream(), scores.dtype());
    const Tensor soft = softmax_weights(noisy * (1 / temperature), mask);
    if (kind == GumbelKind::soft) return soft;
    // The difference is exactly 0, so the value is that of the hardmax, with the gradient of the softmax.
    return hardmax_weights(noisy, mask) + (soft - soft.detach());
  });
}

Choice choose(const Tensor& scores, const Mask& mask) {
  if (scores.rank() < 1 || scores.size(-1) == 0)
    fail("[choose] scores must be (…, queries, keys) with at least one key, got {}", describe(scores));
  const Mask allowed = mask.defined() ? mask.expand(scores.shape(), "choose") : mask;
  const Tensor noise = gumbel_noise(scores.shape(), next_stream(), scores.dtype());
  Choice choice;
  choice.weights = hardmax_weights(scores.detach() + noise, allowed);
  std::vector<std::int64_t> keys = argmax(choice.weights).to_vector();
  if (allowed.defined()) {
    const std::vector<bool> may = allowed.to_vector();
    const auto width = static_cast<std::size_t>(scores.size(-1));
    for (std::size_t row = 0; row < keys.size(); ++row)
      if (!may[row * width + static_cast<std::size_t>(keys[row])]) keys[row] = -1;
  }
  Dims rows = scores.shape();
  rows.erase(rows.rank() - 1);
  choice.keys = Indices(keys, rows);
  // −ln p is the cross-entropy of the scores and the drawn key. A masked key has probability 0, so its score
  // is −∞.
  const Tensor seen =
      allowed.defined()
          ? where(allowed, scores, scalar(-std::numeric_limits<double>::infinity(), scores.dtype()))
          : scores;
  choice.log_probability = -cross_entropy(seen, choice.keys, {.ignore = -1, .reduce = Reduce::none});
  return choice;
}

namespace {

void check_pairs(const Tensor& losses, const Tensor& log_probability) {
  if (losses.shape() != log_probability.shape())
    fail("[score_function_loss] losses and log_probability must have one shape, got {} and {}",
         describe(losses), describe(log_probability));
}

}  // namespace

Tensor score_function_loss(const Tensor& losses, const Tensor& log_probability, double baseline) {
  check_pairs(losses, log_probability);
  return losses + (losses.detach() - baseline) * log_probability;
}

Tensor score_function_loss(const Tensor& losses, const Tensor& log_probability, const Tensor& baseline) {
  check_pairs(losses, log_probability);
  const Tensor advantage = losses.detach() - baseline.detach();
  if (advantage.shape() != losses.shape())
    fail("[score_function_loss] baseline must broadcast to losses, got baseline {} and losses {}",
         describe(baseline), describe(losses));
  return losses + advantage * log_probability;
}

MovingBaseline::MovingBaseline(double decay) : decay_(decay) {
  if (!(decay >= 0 && decay < 1)) fail("[MovingBaseline] decay must be in [0, 1), got {}", decay);
}

void MovingBaseline::add(const Tensor& losses) {
  if (losses.count() == 0)
    fail("[MovingBaseline] losses must have at least one element, got {}", describe(losses));
  const double batch = mean(losses.detach()).item();
  value_ = begun_ ? decay_ * value_ + (1 - decay_) * batch : batch;
  begun_ = true;
}

}  // namespace tapestry
