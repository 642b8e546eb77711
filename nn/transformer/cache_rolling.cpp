#include "nn/transformer/cache_rolling.hpp"

#include <algorithm>

#include "core/ops/views.hpp"
#include "nn/transformer/cache_store.hpp"

namespace tapestry {

RollingCache::RollingCache(Size window) : window_(window) {
  if (window < 1) fail("[rolling_cache] window must be at least 1, got {}", window);
}

void RollingCache::append(const Tensor& keys, const Tensor& values) {
  detail::check_no_tape();
  detail::check_pairs(keys, values);
  if (!keys_.defined()) {
    keys_ = Tensor::uninitialised(detail::with_positions(keys, window_), keys.dtype());
    values_ = Tensor::uninitialised(detail::with_positions(values, window_), values.dtype());
  }
  detail::check_same_rows(keys, keys_);
  detail::check_same_rows(values, values_);
  const Size added = keys.size(-2);
  // If there are more new tokens than the window, only the last ones are stored.
  for (Size begin = std::max<Size>(0, added - window_); begin < added;) {
    const Size slot = (length_ + begin) % window_, end = std::min(added, begin + window_ - slot);
    detail::write_positions(keys_, slot, keys, begin, end);
    detail::write_positions(values_, slot, values, begin, end);
    begin = end;
  }
  length_ += added;
}

Tensor RollingCache::filled(const Tensor& ring) const {
  return ring.defined() ? slice(ring, -2, 0, std::min(length_, window_)) : ring;
}

Size RollingCache::bytes() const {
  Size bytes = 0;
  for (const Tensor& ring : {keys_, values_})
    if (ring.defined()) bytes += ring.count() * static_cast<Size>(bytes_of(ring.dtype()));
  return bytes;
}

}  // namespace tapestry
