#include "nn/transformer/cache_quantised.hpp"

#include <algorithm>
#include <cmath>

#include "core/ops/views.hpp"
#include "nn/transformer/cache_store.hpp"

namespace tapestry {

namespace {

constexpr float kLargest = 127;

void check_finite(const Tensor& x) {
  const Tensor dense = contiguous(x.to(DType::f32));
  const float* const first = dense.data<float>();
  if (!std::all_of(first, first + dense.count(), [](float number) { return std::isfinite(number); }))
    fail("[quantised_cache] keys and values must be finite numbers of f32, got others in {}", describe(x));
}

}  // namespace

void QuantisedCache::append(const Tensor& keys, const Tensor& values) {
  detail::check_no_tape();
  detail::check_pairs(keys, values);
  if (keys_.like.defined()) {
    detail::check_same_rows(keys, keys_.like);
    detail::check_same_rows(values, values_.like);
  }
  check_finite(keys);
  check_finite(values);
  keys_.append(keys);
  values_.append(values);
}

void QuantisedCache::Rows::append(const Tensor& x) {
  if (!like.defined()) like = Tensor::uninitialised(detail::with_positions(x, 0), x.dtype());
  const Size added = x.size(-2), width = x.size(-1),
             heads = x.count() / std::max<Size>(1, added * width);  // batch and heads
  const Tensor dense = contiguous(x.to(DType::f32));
  for (Size t = 0; t < added; ++t)
    for (Size h = 0; h < heads; ++h) {
      const float* const row = dense.data<float>() + (h * added + t) * width;
      float largest = 0;
      for (Size i = 0; i < width; ++i) largest = std::max(largest, std::abs(row[i]));
      scales.push_back(largest / kLargest);
      for (Size i = 0; i < width; ++i) {
        const float number = largest == 0 ? 0 : std::round(row[i] / largest * kLargest);
        numbers.push_back(static_cast<std::int8_t>(number));
      }
    }
  positions += added;
}

Tensor QuantisedCache::Rows::read() const {
  if (!like.defined()) return {};
  Tensor out = Tensor::uninitialised(detail::with_positions(like, positions), DType::f32);
  const Size width = like.size(-1), heads = static_cast<Size>(scales.size()) / std::max<Size>(1, positions);
  float* const first = out.mutable_data<float>();
  std::size_t from = 0;
  for (Size t = 0; t < positions; ++t)
    for (Size h = 0; h < heads; ++h) {
      const float scale = scales[static_cast<std::size_t>(t * heads + h)];
      float* const row = first + (h * positions + t) * width;
      for (Size i = 0; i < width; ++i) row[i] = scale * static_cast<float>(numbers[from++]);
    }
  return out.to(like.dtype());
}

Size QuantisedCache::Rows::bytes() const {
  return static_cast<Size>(numbers.size() * sizeof(std::int8_t) + scales.size() * sizeof(float));
}

}  // namespace tapestry
