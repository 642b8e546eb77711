// Token ids, class labels and positions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/tensor/array.hpp"

namespace tapestry {

/// Token ids, class labels or positions: 64-bit integers of any shape.
class Indices : public detail::Array<std::int64_t> {
 public:
  using Array::Array;
  Indices(std::initializer_list<std::int64_t> values)
      : Array(std::span(values.begin(), values.size()), {static_cast<Size>(values.size())}) {}
  /// Ids of a given shape. Throws Error if the number of values does not match.
  Indices(std::initializer_list<std::int64_t> values, const Dims& shape)
      : Array(std::span(values.begin(), values.size()), shape) {}
  /// Ids (rows, columns) from nested braces: Indices::rows({{1, 2, 3}, {4, 5, 6}}). Throws Error for rows of different
  /// lengths.
  static Indices rows(std::initializer_list<std::initializer_list<std::int64_t>> rows);

  /// Returns the ids with another shape. Throws Error if the number of elements differs.
  Indices reshape(const Dims& shape) const;
  /// Returns dense ids in row-major order, without a copy if they are dense.
  Indices contiguous() const { return reshape(shape_); }
  /// Returns columns [begin, end) of the last axis, as a view. Throws Error for a range outside the axis.
  Indices columns(Size begin, Size end) const;
  /// Returns one column of the last axis and removes the axis.
  Indices column(Size index) const;
};

}  // namespace tapestry
