#include "core/tensor/layout.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/simd/elementwise.hpp"

namespace tapestry {

Tensor uninitialised_like(const Tensor& x, const Dims& shape) {
  const int row = shape.rank() - 2;
  // All axes except the last, sorted by x's strides. An axis that x lacks follows the axis before it.
  struct Axis {
    int axis;
    Size stride;
  };
  std::array<Axis, kMaxRank> order{};
  Size before = std::numeric_limits<Size>::max();
  for (int axis = 0; axis <= row; ++axis) {
    const int in_x = axis - shape.rank() + x.rank();
    if (axis == row || (in_x >= 0 && x.shape()[in_x] > 1 && x.strides()[in_x] > 0))
      before = x.strides()[in_x];
    order[static_cast<std::size_t>(axis)] = {axis, before};
  }
  // A transposed x gives no order for rows.
  if (x.strides().back() == 1)
    for (auto end = order.begin(); end != order.begin() + row + 1; ++end)  // stable, without allocation
      std::rotate(
          std::upper_bound(order.begin(), end, *end,
                           [](const Axis& one, const Axis& other) { return one.stride > other.stride; }),
          end, end + 1);
  Dims stored;
  std::array<int, kMaxRank> place{};
  for (int i = 0; i <= row; ++i) {
    const int axis = order[static_cast<std::size_t>(i)].axis;
    stored.push_back(shape[axis]);
    place[static_cast<std::size_t>(axis)] = i;
  }
  stored.push_back(shape.back());
  place[static_cast<std::size_t>(row + 1)] = row + 1;
  const Tensor memory = Tensor::uninitialised(stored, x.dtype());
  Dims strides = memory.strides();
  for (int axis = 0; axis < shape.rank(); ++axis)
    strides[axis] = memory.strides()[place[static_cast<std::size_t>(axis)]];
  return detail::alias(memory, shape, strides);
}

Tensor dense_copy(const Tensor& x) {
  Tensor copy = Tensor::uninitialised(x.shape(), x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::copy(copy.mutable_view<T>(), x.view<T>());
  });
  return copy;
}

}  // namespace tapestry
