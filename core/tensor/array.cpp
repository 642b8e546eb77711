#include "core/tensor/array.hpp"

#include <algorithm>
#include <cstdint>

#include "core/tensor/index.hpp"

namespace tapestry::detail {

template <class T>
void Array<T>::refuse_access() {
  fail("{} was given no values", std::is_same_v<T, bool> ? "a Mask" : "an Indices");
}

template <class T>
T* Array<T>::allocate(const Dims& shape) {
  check_shape(shape);
  shape_ = shape;
  stride_ = dense_strides(shape);
  offset_ = 0;
  buffer_ = Buffer::make(static_cast<std::uint64_t>(shape.count()) * sizeof(T));
  return reinterpret_cast<T*>(buffer_->data());
}

template <class T>
void Array<T>::take_shape(const Dims& shape) {
  if (is_dense(shape_, stride_)) {
    shape_ = shape;
    stride_ = dense_strides(shape);
    return;
  }
  const Array from = *this;
  const T* values = from.data();
  T* out = allocate(shape);
  each_offset<1>(from.shape_, {from.stride_}, [&](const auto& at) { *out++ = values[at[0]]; });
}

template <class T>
Array<T>::Array(std::span<const T> values, const Dims& shape) {
  check_shape(shape);
  if (static_cast<Size>(values.size()) != shape.count())
    fail("{} values do not fill an array of shape {}{}", values.size(), to_string(shape),
         std::is_same_v<T, bool> ? "" : "; for nested braces, write Indices::rows({{1, 2}, {3, 4}})");
  std::copy(values.begin(), values.end(), allocate(shape));
}

template <class T>
std::vector<T> Array<T>::to_vector() const {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(count()));
  each_offset<1>(shape_, {stride_}, [&](const auto& at) { values.push_back(data()[at[0]]); });
  return values;
}

template class Array<std::int64_t>;
template class Array<bool>;

}  // namespace tapestry::detail
