// Shapes, strides, and strided views: the arguments of all kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace tapestry {

/// Counts, sizes, strides and offsets: always signed, always in elements.
using Size = std::int64_t;

/// Largest number of axes of a tensor.
inline constexpr int kMaxRank = 6;

/// Throws Error for a rank above kMaxRank. Defined in core/tensor, as Error is.
[[noreturn, gnu::cold]] void refuse_rank(std::size_t rank);

/// Up to kMaxRank sizes or strides, stored inline; more throw Error. It is padded to 64 bytes, which compilers copy as
/// two halves. They would copy 56 bytes as overlapping halves, and a read right after that would stall. Values after
/// the last axis are 0, so that == compares whole arrays.
class alignas(16) Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<Size> values) : rank_(static_cast<int>(values.size())) {
    if (rank_ > kMaxRank) refuse_rank(values.size());
    std::copy(values.begin(), values.end(), values_.begin());
  }
  /// Returns `rank` copies of `value`.
  static constexpr Dims filled(int rank, Size value) {
    if (rank > kMaxRank) refuse_rank(static_cast<std::size_t>(rank));
    Dims dims;
    dims.rank_ = rank;
    std::fill_n(dims.values_.begin(), rank, value);
    return dims;
  }

  /// Number of axes.
  constexpr int rank() const { return rank_; }
  /// Returns true for rank 0, as in the shape of a scalar.
  constexpr bool empty() const { return rank_ == 0; }
  constexpr Size operator[](int axis) const { return values_[static_cast<std::size_t>(axis)]; }
  constexpr Size& operator[](int axis) { return values_[static_cast<std::size_t>(axis)]; }
  /// Last value; the rank must be at least 1.
  constexpr Size back() const { return (*this)[rank_ - 1]; }
  constexpr Size& back() { return (*this)[rank_ - 1]; }
  constexpr const Size* begin() const { return values_.data(); }
  constexpr const Size* end() const { return values_.data() + rank_; }
  constexpr Size* begin() { return values_.data(); }
  constexpr Size* end() { return values_.data() + rank_; }

  /// push_back() appends a value, and insert() inserts one before `axis`; beyond kMaxRank they throw Error. erase()
  /// removes the value of `axis`.
  constexpr void push_back(Size value) {
    if (rank_ == kMaxRank) refuse_rank(kMaxRank + 1);
    values_[static_cast<std::size_t>(rank_++)] = value;
  }
  constexpr void insert(int axis, Size value) {
    push_back(value);
    std::rotate(begin() + axis, end() - 1, end());
  }
  constexpr void erase(int axis) {
    std::copy(begin() + axis + 1, end(), begin() + axis);
    values_[static_cast<std::size_t>(--rank_)] = 0;
  }

  /// Returns true if a size is negative or at least 1024. Otherwise, six axes have fewer than 2^60 elements.
  constexpr bool has_large_or_negative() const {
    Size bits = 0;
    for (Size value : values_) bits |= value;
    return (bits >> 10) != 0;
  }
  /// Number of elements of a tensor with these sizes; 1 for rank 0.
  constexpr Size count() const {
    Size product = 1;
    for (Size value : *this) product *= value;
    return product;
  }
  /// Product of the sizes first … last − 1; 1 for an empty range.
  constexpr Size count(int first, int last) const {
    Size product = 1;
    for (int axis = first; axis < last; ++axis) product *= (*this)[axis];
    return product;
  }
  /// Size of an axis counted from the back (1 is the last); 1 for missing axes, as in broadcasting.
  constexpr Size from_back(int back) const { return back <= rank_ ? (*this)[rank_ - back] : 1; }
  friend constexpr bool operator==(const Dims& a, const Dims& b) {
    Size apart = a.rank_ ^ b.rank_;
    for (std::size_t i = 0; i < kMaxRank; ++i) apart |= a.values_[i] ^ b.values_[i];
    return apart == 0;
  }

 private:
  std::array<Size, kMaxRank> values_{};
  int rank_ = 0;
};

/// Returns the strides of a dense row-major tensor of this shape.
constexpr Dims dense_strides(const Dims& shape) {
  Dims strides = shape;
  Size step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

/// Returns true if the elements are contiguous in row-major order, or if there are none.
constexpr bool is_dense(const Dims& shape, const Dims& stride) {
  Size step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && stride[axis] != step) return shape.count() == 0;
    step *= shape[axis];
  }
  return true;
}

/// Returns the offset of element `place`, counted in row-major order. The shape must have no axis of size 0.
constexpr Size offset_of(Size place, const Dims& shape, const Dims& stride) {
  Size offset = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    offset += place % shape[axis] * stride[axis];
    place /= shape[axis];
  }
  return offset;
}

/// Strided view: the element at an index is data[Σ index·stride]. A stride of 0 repeats elements (broadcasting).
template <class T>
struct View {
  T* data = nullptr;  // the first element
  Dims shape;         // a size for each axis
  Dims stride;        // in elements

  /// Converts to a read-only view.
  operator View<const T>() const { return {data, shape, stride}; }
};

}  // namespace tapestry
