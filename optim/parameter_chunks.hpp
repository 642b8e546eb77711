// Work over all weights at once: their elements form one long line, cut into equal stretches that threads
// share. Fifty small weights cost one parallel region, and a large one is shared by all threads.
#pragma once

#include <algorithm>

#include "core/simd/runtime/threads.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry::detail {

/// Elements of a stretch: some 10 µs of work when the values come from memory.
inline constexpr Size kStretch = 16 * 1024;

/// Where each job starts on the line. Starts are rounded up to whole cache lines, so that cuts fall on
/// multiples of the SIMD width.
class ParameterChunks {
 public:
  void add(Size count) {
    starts_.push_back(length_);
    counts_.push_back(count);
    length_ += (count + 63) / 64 * 64;
  }
  Size stretches() const { return simd::chunks_for(length_, kStretch); }

  /// Calls f(job, begin, end) for the parts of jobs that lie in one stretch, in order.
  template <class F>
  void walk(Size stretch, F f) const {
    const Size from = stretch * kStretch, to = from + kStretch;
    auto job =
        static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), from) - starts_.begin()) -
        1;
    for (; job < starts_.size() && starts_[job] < to; ++job) {
      const Size begin = std::max(from - starts_[job], Size{0}),
                 end = std::min(to - starts_[job], counts_[job]);
      if (begin < end) f(job, begin, end);
    }
  }

  /// Calls f(job, begin, end) for all parts of all jobs, on all threads. The cuts follow from the counts
  /// alone.
  template <class F>
  void run(const F& f) const {
    simd::parallel_for(stretches(), [&](Size stretch) { walk(stretch, f); });
  }

 private:
  PoolVector<Size> starts_, counts_;
  Size length_ = 0;
};

}  // namespace tapestry::detail
