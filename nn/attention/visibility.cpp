#include "nn/attention/visibility.hpp"

#include <algorithm>
#include <memory>

#include "core/ops/pointwise.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

bool all_true(const bool* values, Size count) {
  return std::all_of(values, values + count, [](bool b) { return b; });
}

/// Size of an axis, counted from the back; 1 for axes that are not there.
Size from_back(const Dims& shape, int back) { return back <= shape.rank() ? shape[shape.rank() - back] : 1; }

}  // namespace

Mask live_keys_of(const Mask& mask, const Dims& keys) {
  if (keys.rank() < 2 || mask.rank() < 2)
    fail(
        "[attention] a mask (…, queries, keys) and keys (…, keys, width) "
        "have two axes or more, not {} and {}",
        to_string(mask.shape()), to_string(keys));
  // live: the keys' axes without their width, in front those that only the mask has.
  const int rank = std::max(mask.rank(), keys.rank());
  Dims live = Dims::filled(rank, 1), step = Dims::filled(rank, 0), pairs = Dims::filled(rank, 1);
  for (int back = 1; back <= rank; ++back) {
    const Size in_mask = from_back(mask.shape(), back);
    const Size in_keys = back == 1 ? from_back(keys, 2) : back == 2 ? 1 : from_back(keys, back);
    if (back != 2 && in_mask != in_keys && in_mask != 1 && in_keys != 1)
      fail("[attention] mask {} does not fit keys {}: the mask is (…, queries, keys)",
           to_string(mask.shape()), to_string(keys));
    // What the mask has once stands for all that the keys have there.
    pairs[rank - back] = in_mask;
    live[rank - back] = in_mask == 1 ? 1 : in_keys;
  }
  const Dims dense = dense_strides(live);
  for (int axis = 0; axis < rank; ++axis) step[axis] = live[axis] == 1 ? 0 : dense[axis];

  auto values = std::make_unique<bool[]>(static_cast<std::size_t>(live.count()));
  const View<const bool> may = mask.broadcast(pairs, "attention");
  const Size columns = pairs.back(), rows = columns == 0 ? 0 : pairs.count() / columns;
  Dims index = Dims::filled(rank, 0);
  for (Size row = 0; row < rows; ++row) {
    Size from = 0, to = 0;
    for (int axis = 0; axis + 1 < rank; ++axis) {
      from += index[axis] * may.stride[axis];
      to += index[axis] * step[axis];
    }
    for (Size j = 0; j < columns; ++j)
      values[static_cast<std::size_t>(to + j * step.back())] |= may.data[from + j * may.stride.back()];
    for (int axis = rank - 2; axis >= 0 && ++index[axis] == pairs[axis]; --axis) index[axis] = 0;
  }
  if (all_true(values.get(), live.count())) return {};
  // As (…, keys, 1), with the keys' axes only; those that the mask lacks repeat it.
  Dims shape = keys, once = keys;
  for (int axis = 0; axis + 2 < keys.rank(); ++axis) once[axis] = live[axis + rank - keys.rank()];
  once[keys.rank() - 2] = live.back();
  shape.back() = once.back() = 1;
  return Mask({values.get(), static_cast<std::size_t>(live.count())}, once).expand(shape);
}

Tensor keep(const Mask& mask, const Tensor& x) {
  return mask.defined() ? where(mask, x, scalar(0, x.dtype())) : x;
}

Mask live_queries_of(const Mask& mask) {
  Dims shape = mask.shape();
  const Size keys = shape.back();
  shape.back() = 1;
  const Size queries = shape.count();
  auto values = std::make_unique<bool[]>(static_cast<std::size_t>(queries));
  const View<const bool> may = mask.view();
  Dims index = Dims::filled(mask.rank(), 0);
  for (Size i = 0; i < queries; ++i) {
    Size from = 0;
    for (int axis = 0; axis + 1 < mask.rank(); ++axis) from += index[axis] * may.stride[axis];
    bool any = false;
    for (Size j = 0; j < keys; ++j) any |= may.data[from + j * may.stride.back()];
    values[static_cast<std::size_t>(i)] = any;
    for (int axis = mask.rank() - 2; axis >= 0 && ++index[axis] == shape[axis]; --axis) index[axis] = 0;
  }
  if (all_true(values.get(), queries)) return {};
  return Mask({values.get(), static_cast<std::size_t>(queries)}, shape);
}

}  // namespace tapestry
