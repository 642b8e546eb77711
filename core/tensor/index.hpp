// Axes and indices: helpers for positions in a shape, and loops over strided elements.
#pragma once

#include <array>
#include <optional>

#include "core/simd/view.hpp"

namespace tapestry {

/// Returns the index, one number for each axis, of the element with the row-major number `place`. No axis may be empty.
constexpr Dims index_of(Size place, const Dims& shape) {
  Dims index = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = place % shape[axis];
    place /= shape[axis];
  }
  return index;
}

/// Returns true if two shapes have equal ranks and equal sizes on all axes except `axis`.
constexpr bool agree_but_for(int axis, const Dims& a, const Dims& b) {
  bool agree = a.rank() == b.rank();
  for (int i = 0; agree && i < a.rank(); ++i) agree = i == axis || a[i] == b[i];
  return agree;
}

/// Resolves the position of a new axis of size 1: an `axis` in −rank − 1 … rank becomes 0 … rank. Returns nullopt for
/// other numbers, and if there are kMaxRank axes.
constexpr std::optional<int> new_axis_of(int axis, int rank) {
  const int a = axis < 0 ? axis + rank + 1 : axis;
  if (a < 0 || a > rank || rank == kMaxRank) return std::nullopt;
  return a;
}

namespace detail {

/// Calls f(offsets) for each element of a shape in row-major order, with one offset for each of the N strides.
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
