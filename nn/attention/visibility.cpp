#include "nn/attention/visibility.hpp"

#include <algorithm>
#include <memory>

#include "core/create.hpp"
#include "core/ops/pointwise.hpp"

namespace tapestry {

namespace {

bool all_true(const bool* values, Size count) {
  return std::all_of(values, values + count, [](bool b) { return b; });
}

/// Size of an axis, counted from the back; 1 for axes that are not there.
Size from_back(const Dims& shape, int back) { return back <= shape.rank() ? shape[shape.rank() - back] : 1; }

}  // namespace

Mask seen_keys(const Mask& mask, const Dims& keys) {
  if (keys.rank() < 2 || mask.rank() < 2)
    fail(
        "[attention] a mask (…, queries, keys) and keys (…, keys, width) have two axes or more, not {} and "
        "{}",
        to_string(mask.shape()), to_string(keys));
  // Every pair of the mask, with axes that the keys have and the mask lacks repeated.
  const int rank = std::max(mask.rank(), keys.rank());
  Dims pairs = Dims::filled(rank, 1), seen = Dims::filled(rank, 1), step = Dims::filled(rank, 0);
  for (int back = 1; back <= rank; ++back) {
    const Size in_mask = from_back(mask.shape(), back);
    const Size in_keys = back == 1 ? from_back(keys, 2) : back == 2 ? 1 : from_back(keys, back);
    if (back != 2 && in_mask != in_keys && in_mask != 1 && in_keys != 1)
      fail("[attention] mask {} does not fit keys {}: the mask is (…, queries, keys)",
           to_string(mask.shape()), to_string(keys));
    pairs[rank - back] = in_mask == 1 ? in_keys : in_mask;
    seen[rank - back] = in_keys;
  }
  const Dims dense = dense_strides(seen);
  for (int axis = 0; axis < rank; ++axis) step[axis] = seen[axis] == 1 ? 0 : dense[axis];

  auto values = std::make_unique<bool[]>(static_cast<std::size_t>(seen.count()));
  const View<const bool> may = mask.broadcast(pairs, "attention");
  Dims index = Dims::filled(rank, 0);
  for (Size i = 0, total = pairs.count(); i < total; ++i) {
    Size from = 0, to = 0;
    for (int axis = 0; axis < rank; ++axis) {
      from += index[axis] * may.stride[axis];
      to += index[axis] * step[axis];
    }
    values[static_cast<std::size_t>(to)] |= may.data[from];
    for (int axis = rank - 1; axis >= 0 && ++index[axis] == pairs[axis]; --axis) index[axis] = 0;
  }
  if (all_true(values.get(), seen.count())) return {};
  Dims shape = keys;
  shape.back() = 1;
  return Mask({values.get(), static_cast<std::size_t>(seen.count())}, shape);
}

Tensor keep(const Mask& mask, const Tensor& x) {
  return mask.defined() ? where(mask, x, scalar(0, x.dtype())) : x;
}

Mask seeing_queries(const Mask& mask) {
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
