#include "core/tensor/create.hpp"

#include <cmath>
#include <numbers>

#include "core/simd/elementwise.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

namespace {

/// Returns a new tensor with value(i) as its i-th element in row-major order.
template <class F>
Tensor generate(const Dims& shape, DType dtype, F value) {
  Tensor result = Tensor::uninitialised(shape, dtype);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = result.mutable_data<T>();
    const Size n = shape.count();
    for (Size i = 0; i < n; ++i) out[i] = static_cast<T>(value(i));
  });
  return result;
}

}  // namespace

Tensor full(const Dims& shape, double value, DType dtype) {
  Tensor result = Tensor::uninitialised(shape, dtype);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    simd::fill(result.mutable_view<T>(), static_cast<T>(value));
  });
  return result;
}

Tensor zeros(const Dims& shape, DType dtype) { return full(shape, 0.0, dtype); }
Tensor ones(const Dims& shape, DType dtype) { return full(shape, 1.0, dtype); }
Tensor scalar(double value, DType dtype) { return full({}, value, dtype); }

Tensor arange(double begin, double end, double step, DType dtype) {
  if (step == 0 || !std::isfinite((end - begin) / step))
    fail("arange from {} to {} must have a non-zero step and finite limits, got a step of {}", begin, end,
         step);
  const double count = std::max(0.0, std::ceil((end - begin) / step));
  if (count > 0x1p43) fail("arange from {} to {} by {} must have at most 2^43 elements", begin, end, step);
  const auto n = static_cast<Size>(count);
  return generate({n}, dtype, [&](Size i) { return begin + static_cast<double>(i) * step; });
}

Tensor eye(Size n, DType dtype) {
  return generate({n, n}, dtype, [n](Size i) { return i / n == i % n ? 1.0 : 0.0; });
}

Tensor tensor(std::span<const double> values, const Dims& shape, DType dtype) {
  check_shape(shape);
  if (static_cast<Size>(values.size()) != shape.count())
    fail("{} values do not fill a tensor of shape {}", values.size(), to_string(shape));
  return generate(shape, dtype, [&](Size i) { return values[static_cast<std::size_t>(i)]; });
}

NestedList::NestedList(std::initializer_list<NestedList> parts) {
  const NestedList* first = parts.begin();
  if (parts.size() && first->shape_.rank() == kMaxRank)
    fail("nested lists must be at most {} deep", kMaxRank);
  shape_.push_back(static_cast<Size>(parts.size()));
  if (parts.size())
    for (Size size : first->shape_) shape_.push_back(size);
  for (const NestedList& part : parts) {
    if (part.shape_ != first->shape_)
      fail("nested lists must have parts of equal shapes, got {} and {}", to_string(first->shape_),
           to_string(part.shape_));
    values_.insert(values_.end(), part.values_.begin(), part.values_.end());
  }
}

Tensor tensor(const NestedList& list, DType dtype) { return tensor(list.values(), list.shape(), dtype); }

Tensor random_uniform(const Dims& shape, std::uint64_t seed, double low, double high, DType dtype) {
  const Stream stream(seed, kUniformStream);
  const bool narrow = dtype == DType::f32;
  const auto rounded = [&](double x) { return narrow ? static_cast<double>(static_cast<float>(x)) : x; };
  const double end = rounded(high);
  const double beside_end =
      narrow ? std::nextafter(static_cast<float>(high), static_cast<float>(low)) : std::nextafter(high, low);
  return generate(shape, dtype, [&](Size i) {
    const double x = low + (high - low) * stream.uniform(static_cast<std::uint64_t>(i));
    return rounded(x) == end ? beside_end : x;
  });
}

Tensor random_normal(const Dims& shape, std::uint64_t seed, DType dtype) {
  const Stream stream(seed, kNormalStream);
  return generate(shape, dtype, [&](Size i) { return stream.normal(static_cast<std::uint64_t>(i)); });
}

}  // namespace tapestry
