// Arrays of ids (indices.hpp) and of booleans (mask.hpp). They are immutable and have no gradient.
#pragma once

#include <span>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// Handle to an immutable strided array. Copies share the values.
template <class T>
class Array {
 public:
  Array() = default;
  Array(std::span<const T> values, const Dims& shape);

  bool defined() const { return static_cast<bool>(buffer_); }
  const Dims& shape() const { return shape_; }
  const Dims& strides() const { return stride_; }
  int rank() const { return shape_.rank(); }
  Size count() const { return shape_.count(); }
  /// First element. Throws Error if the array is undefined.
  const T* data() const {
    if (!buffer_) [[unlikely]]
      refuse_access();
    return reinterpret_cast<const T*>(buffer_->data()) + offset_;
  }
  View<const T> view() const { return {data(), shape_, stride_}; }
  /// Buffer of the values, which also owns data computed from them (Kept). Throws Error if the array is undefined.
  Buffer& buffer() const {
    if (!buffer_) [[unlikely]]
      refuse_access();
    return *buffer_;
  }
  /// Returns all values in row-major order.
  std::vector<T> to_vector() const;

 protected:
  /// Allocates new memory, which the caller fills through the returned pointer.
  T* allocate(const Dims& shape);
  /// Changes the shape to one with as many elements, without a copy if the values are dense.
  void take_shape(const Dims& shape);

  Ref<Buffer> buffer_;
  Dims shape_, stride_;
  Size offset_ = 0;

 private:
  [[noreturn]] static void refuse_access();
};

}  // namespace tapestry::detail
