// Parallel work over the elements of all weights at once. The elements of all weights are numbered one after another,
// and this sequence is cut into chunks of equal size for the threads. So 50 small weights need only one parallel region,
// and several threads can share one large weight.
#pragma once

#include <algorithm>

#include "core/simd/runtime/threads.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry::detail {

/// Elements per chunk: about 10 µs of work if the values come from memory.
inline constexpr Size kChunk = 16 * 1024;

/// Chunks of the elements of a list of weights. Each weight starts at a multiple of 64, so that chunks begin at a
/// multiple of the SIMD width within a weight.
class ParameterChunks {
 public:
  /// Appends a weight of `count` elements.
  void add(Size count) {
    starts_.push_back(length_);
    counts_.push_back(count);
    length_ += (count + 63) / 64 * 64;
  }
  /// Number of chunks.
  Size count() const { return simd::chunks_for(length_, kChunk); }

  /// Calls f(weight, begin, end) for each weight that has elements in the chunk, in order. `weight` is its index in the
  /// list, and [begin, end) are these elements.
  template <class F>
  void for_each_part(Size chunk, F f) const {
    const Size from = chunk * kChunk, to = from + kChunk;
    auto weight =
        static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), from) - starts_.begin()) -
        1;
    for (; weight < starts_.size() && starts_[weight] < to; ++weight) {
      const Size begin = std::max(from - starts_[weight], Size{0}),
                 end = std::min(to - starts_[weight], counts_[weight]);
      if (begin < end) f(weight, begin, end);
    }
  }

  /// Calls f(weight, begin, end) for all parts of all weights, on all threads. The chunks depend on the counts alone.
  template <class F>
  void run(const F& f) const {
    simd::parallel_for(count(), [&](Size chunk) { for_each_part(chunk, f); });
  }

 private:
  PoolVector<Size> starts_, counts_;
  Size length_ = 0;
};

}  // namespace tapestry::detail
