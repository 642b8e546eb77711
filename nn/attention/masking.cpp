#include "nn/attention/masking.hpp"

#include <algorithm>
#include <vector>

#include "core/ops/pointwise.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

Mask visible_keys(const Mask& mask, const Dims& keys) {
  if (keys.rank() < 2 || mask.rank() < 2)
    fail(
        "[attention] a mask (…, queries, keys) and keys (…, keys, width) "
        "must have at least two axes, got {} and {}",
        to_string(mask.shape()), to_string(keys));
  // live: first the axes that only the mask has, then the axes of the keys without their width.
  const int rank = std::max(mask.rank(), keys.rank());
  Dims live = Dims::filled(rank, 1), pairs = Dims::filled(rank, 1);
  for (int back = 1; back <= rank; ++back) {
    const Size in_mask = mask.shape().from_back(back);
    const Size in_keys = back == 1 ? keys.from_back(2) : back == 2 ? 1 : keys.from_back(back);
    if (back != 2 && in_mask != in_keys && in_mask != 1 && in_keys != 1)
      fail("[attention] mask (…, queries, keys) must fit keys (…, keys, width), got mask {} and keys {}",
           to_string(mask.shape()), to_string(keys));
    // A mask axis of size 1 applies to the whole axis of the keys.
    pairs[rank - back] = in_mask;
    live[rank - back] = in_mask == 1 ? 1 : in_keys;
  }
  const Mask any = mask.expand(pairs, "attention").any(live);
  if (any.all()) return {};
  // The result is (…, keys, 1); axes that the mask broadcasts over are repeated.
  Dims shape = keys, once = keys;
  for (int axis = 0; axis + 2 < keys.rank(); ++axis) once[axis] = live[axis + rank - keys.rank()];
  once[keys.rank() - 2] = live.back();
  shape.back() = once.back() = 1;
  return any.reshape(once).expand(shape);
}

Tensor zero_masked(const Mask& mask, const Tensor& x) {
  return mask.defined() ? where(mask, x, scalar(0, x.dtype())) : x;
}

Mask same_document(const Indices& documents) {
  if (documents.rank() != 2)
    fail("[same_document] documents must be (batch, time), got {}", to_string(documents.shape()));
  const Size batch = documents.shape()[0], time = documents.shape()[1];
  const std::vector<std::int64_t> ids = documents.to_vector();
  const auto id = [&](Size row, Size t) { return ids[static_cast<std::size_t>(row * time + t)]; };
  return Mask::from(batch * time, time,
                    [&](Size at, Size j) { return id(at / time, at % time) == id(at / time, j); })
      .reshape({batch, time, time});
}

Mask visible_queries(const Mask& mask) {
  Dims shape = mask.shape();
  shape.back() = 1;
  const Mask live = mask.any(shape);
  return live.all() ? Mask{} : live;
}

}  // namespace tapestry
