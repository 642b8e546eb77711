#include "core/ops/views.hpp"

#include <optional>

#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/index.hpp"
#include "core/tensor/layout.hpp"
#include "core/tensor/map.hpp"

namespace tapestry {

namespace {

/// Returns strides that view x's memory as `shape`, or nullopt if that needs a copy. Axes of x that are dense
/// together form a run. A run can be split into other axes, but no new axis may span two runs.
std::optional<Dims> view_strides(const Tensor& x, const Dims& shape) {
  if (x.count() == 0) return dense_strides(shape);
  Dims strides = Dims::filled(shape.rank(), 0);
  int next = shape.rank() - 1;
  int axis = x.rank() - 1;
  while (axis >= 0) {
    Size run = x.shape()[axis];
    const Size step = x.strides()[axis];
    while (axis > 0 && (x.shape()[axis - 1] == 1 || x.strides()[axis - 1] == step * run || run == 1)) {
      if (run == 1 && x.shape()[axis - 1] != 1) break;
      run *= x.shape()[--axis];
    }
    Size filled = 1;
    while (next >= 0 && (filled < run || shape[next] == 1)) {
      strides[next] = step * filled;
      filled *= shape[next--];
    }
    if (filled != run) return std::nullopt;
    --axis;
  }
  for (; next >= 0; --next)
    if (shape[next] != 1) return std::nullopt;
  return strides;
}

Dims resolve(const Tensor& x, Dims shape, CallSite at) {
  Dims known = shape;  // with 1 for an inferred axis
  int open = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] >= 0) continue;
    if (shape[axis] != -1 || open >= 0)
      fail("[reshape] sizes must be at least 0, or -1 for one of them, got {} ({}:{})", to_string(shape),
           at.file, at.line);
    open = axis;
    known[axis] = 1;
  }
  check_shape(known);
  const Size others = known.count();
  if (open >= 0 && others > 0 && x.count() % others == 0) shape[open] = x.count() / others;
  if ((open >= 0 && shape[open] < 0) || shape.count() != x.count())
    fail("[reshape] the {} elements of {} do not fill shape {} ({}:{})", x.count(), describe(x),
         to_string(shape), at.file, at.line);
  return shape;
}

/// Returns zeros of `shape` with `part` at the position of a slice: the gradient of slice and select.
Tensor embed(const Tensor& part, const Dims& shape, int axis, Size begin, Size step, CallSite at = {});

Tensor slice_view(const Tensor& x, int axis, Size begin, Size count, Size step) {
  Dims shape = x.shape();
  Dims stride = x.strides();
  shape[axis] = count;
  const Size offset = count ? begin * stride[axis] : 0;
  stride[axis] *= step;
  return detail::alias(x, shape, stride, offset);
}

/// Adds `part` to the elements of `sum` that the slice selected.
void add_to_slice(Tensor& sum, const Tensor& part, int axis, Size begin, Size step) {
  Tensor place = slice_view(sum, axis, begin, part.shape()[axis], step);
  add_in_place(place, part);
}

Tensor take_slice(const Tensor& x, int axis, Size begin, Size count, Size step, CallSite at) {
  return op<"slice">(
      at, slice_view(x, axis, begin, count, step),
      wrt(
          x,
          [shape = x.shape(), axis, begin, step](const Tensor& dy) {
            return embed(dy, shape, axis, begin, step);
          },
          [axis, begin, step](Tensor& sum, const Tensor& dy) { add_to_slice(sum, dy, axis, begin, step); }));
}

// y = 0, then y[…, begin + i·step, …] = part[…, i, …]        ∂part = dy[…, begin + i·step, …]
Tensor embed(const Tensor& part, const Dims& shape, int axis, Size begin, Size step, CallSite at) {
  Tensor y = zeros(shape, part.dtype());
  Tensor place = slice_view(y, axis, begin, part.shape()[axis], step);
  dispatch(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::copy(place.mutable_view<T>(), part.view<T>());
  });
  return op<"embed">(at, y, wrt(part, [axis, begin, step, count = part.shape()[axis]](const Tensor& dy) {
                       return take_slice(dy, axis, begin, count, step, {});
                     }));
}

}  // namespace

namespace detail {

Tensor reshaped(const Tensor& x, const Dims& shape) {
  if (const auto strides = view_strides(x, shape)) return alias(x, shape, *strides);
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::copy(y.mutable_view<T>(), x.view<T>());
  });
  return alias(y, shape, dense_strides(shape));
}

}  // namespace detail

// y has x's elements in the same order        ∂x = dy with x's shape
Tensor reshape(const Tensor& x, const Dims& wanted, CallSite at) {
  return op<"reshape">(at, detail::reshaped(x, resolve(x, wanted, at)),
                       wrt(x, [from = x.shape()](const Tensor& dy) { return reshape(dy, from); }));
}

// y[i₀, i₁, …] = x[…] with i_k as the index of axis order[k]        ∂x = dy, permuted back
Tensor permute(const Tensor& x, const Dims& order, CallSite at) {
  Dims shape = x.shape(), stride = x.strides(), back = order;
  unsigned seen = 0;
  bool valid = order.rank() == x.rank();
  for (int i = 0; valid && i < order.rank(); ++i) {
    const Size from = order[i] < 0 ? order[i] + x.rank() : order[i];
    valid = from >= 0 && from < x.rank() && !(seen >> from & 1U);
    if (!valid) break;
    seen |= 1U << from;
    shape[i] = x.shape()[static_cast<int>(from)];
    stride[i] = x.strides()[static_cast<int>(from)];
    back[static_cast<int>(from)] = i;
  }
  if (!valid)
    fail("[permute] order must name each axis of {1} once, got {0} ({2}:{3})", to_string(order), describe(x),
         at.file, at.line);
  return op<"permute">(at, detail::alias(x, shape, stride),
                       wrt(x, [back](const Tensor& dy) { return permute(dy, back); }));
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b, CallSite at) {
  Dims order = x.shape();
  for (int i = 0; i < order.rank(); ++i) order[i] = i;
  std::swap(order[axis_of(x, axis_a)], order[axis_of(x, axis_b)]);
  return permute(x, order, at);
}

// y[…, i, …] = x[…, begin + i·step, …]        ∂x = dy at those elements, 0 elsewhere
Tensor slice(const Tensor& x, int axis, Size begin, Size end, Size step, CallSite at) {
  const int a = axis_of(x, axis);
  const Size n = x.shape()[a];
  const Size from = begin < 0 ? begin + n : begin, to = end < 0 ? end + n : end;
  if (from < 0 || to > n || from > to || step < 1)
    fail("[slice] {} to {} step {} does not fit axis {} of {} ({}:{})", begin, end, step, axis, describe(x),
         at.file, at.line);
  return take_slice(x, a, from, to == from ? 0 : (to - from - 1) / step + 1, step, at);
}

Tensor select(const Tensor& x, int axis, Size index, CallSite at) {
  const int a = axis_of(x, axis);
  const Size n = x.shape()[a];
  const Size from = index < 0 ? index + n : index;
  if (from < 0 || from >= n)
    fail("[select] index {} is outside axis {} of {} ({}:{})", index, axis, describe(x), at.file, at.line);
  Dims shape = x.shape(), stride = x.strides();
  shape.erase(a);
  stride.erase(a);
  const auto as_slice = [a](const Tensor& dy) { return unsqueeze(dy, a); };
  return op<"select">(at, detail::alias(x, shape, stride, from * x.strides()[a]),
                      wrt(
                          x,
                          [whole = x.shape(), a, from, as_slice](const Tensor& dy) {
                            return embed(as_slice(dy), whole, a, from, 1);
                          },
                          [a, from, as_slice](Tensor& sum, const Tensor& dy) {
                            add_to_slice(sum, as_slice(dy), a, from, 1);
                          }));
}

// y repeats x along axes of size 1        ∂x = dy, summed over the repeats
Tensor expand(const Tensor& x, const Dims& shape, CallSite at) {
  if (!broadcasts_to(x.shape(), shape))
    fail("[expand] {} cannot be expanded to {} ({}:{})", describe(x), to_string(shape), at.file, at.line);
  check_shape(shape);
  return op<"expand">(at, detail::alias(x, shape, broadcast_strides(x.shape(), x.strides(), shape)),
                      wrt(x, [from = x.shape()](const Tensor& dy) { return sum_to(dy, from); }));
}

Tensor squeeze(const Tensor& x, int axis, CallSite at) {
  const int a = axis_of(x, axis);
  if (x.shape()[a] != 1)
    fail("[squeeze] axis {} of {} must have size 1 ({}:{})", axis, describe(x), at.file, at.line);
  Dims shape = x.shape(), stride = x.strides();
  shape.erase(a);
  stride.erase(a);
  return op<"squeeze">(at, detail::alias(x, shape, stride),
                       wrt(x, [a](const Tensor& dy) { return unsqueeze(dy, a); }));
}

Tensor unsqueeze(const Tensor& x, int axis, CallSite at) {
  const std::optional<int> place = new_axis_of(axis, x.rank());
  if (!place)
    fail("[unsqueeze] {} cannot get a new axis at {}; the rank must be at most {} ({}:{})", describe(x), axis,
         kMaxRank, at.file, at.line);
  const int a = *place;
  Dims shape = x.shape(), stride = x.strides();
  shape.insert(a, 1);
  stride.insert(a, 0);
  return op<"unsqueeze">(at, detail::alias(x, shape, stride),
                         wrt(x, [a](const Tensor& dy) { return squeeze(dy, a); }));
}

std::vector<Tensor> split(const Tensor& x, Size size, int axis, CallSite at) {
  const int a = axis_of(x, axis);
  if (size < 1) fail("[split] size must be at least 1, got {} ({}:{})", size, at.file, at.line);
  std::vector<Tensor> parts;
  for (Size begin = 0; begin < x.shape()[a]; begin += size)
    parts.push_back(slice(x, a, begin, std::min(begin + size, x.shape()[a]), 1, at));
  return parts;
}

// y = x        ∂x = dy
Tensor contiguous(const Tensor& x, CallSite at) {
  if (x.is_contiguous()) return x;
  return op<"contiguous">(at, dense_copy(x), wrt(x, [](const Tensor& dy) { return dy; }));
}

}  // namespace tapestry
