// Places in a shape: axes, indices along them, and the order in which elements are counted.
#pragma once

#include <array>
#include <optional>

#include "core/simd/view.hpp"

namespace tapestry {

/// The index, one number an axis, of element `place` of a shape without empty axes, counted in row-major
/// order.
constexpr Dims index_of(Size place, const Dims& shape) {
  Dims index = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = place % shape[axis];
    place /= shape[axis];
  }
  return index;
}

/// Whether two shapes agree in all axes but this one.
constexpr bool agree_but_for(int axis, const Dims& a, const Dims& b) {
  bool agree = a.rank() == b.rank();
  for (int i = 0; agree && i < a.rank(); ++i) agree = i == axis || a[i] == b[i];
  return agree;
}

/// Where a new axis of size 1 comes to stand among `rank` others: 0 … rank, from −rank − 1 … rank. Nothing
/// for other numbers, or if there are kMaxRank axes already.
constexpr std::optional<int> new_axis_of(int axis, int rank) {
  const int a = axis < 0 ? axis + rank + 1 : axis;
  if (a < 0 || a > rank || rank == kMaxRank) return std::nullopt;
  return a;
}

namespace detail {

/// Calls f(offsets) for each element of a shape, in row-major order: its offset with each of the strides.
template <std::size_t N, class F>
void each_offset(const Dims& shape, const std::array<Dims, N>& strides, F f) {
  if (shape.count() == 0) return;
  std::array<Size, N> row{}, step{};
  const int outer = shape.rank() - 1;  // axes before the last
  if (outer >= 0)
    for (std::size_t k = 0; k < N; ++k) step[k] = strides[k].back();
  Dims index = Dims::filled(shape.rank(), 0);
  while (true) {
    std::array<Size, N> offsets = row;
    for (Size i = shape.from_back(1); i > 0; --i) {
      f(offsets);
      for (std::size_t k = 0; k < N; ++k) offsets[k] += step[k];
    }
    int axis = outer - 1;
    for (; axis >= 0; --axis) {
      const bool inside = ++index[axis] < shape[axis];
      for (std::size_t k = 0; k < N; ++k) row[k] += strides[k][axis] * (inside ? 1 : 1 - shape[axis]);
      if (inside) break;
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace detail

}  // namespace tapestry
