// Parallel work over the elements of all weights at once. The weights are laid end to end on one line, which is cut
// into equal stretches for the threads. Fifty small weights then need one parallel region, and threads share a large
// one.
#pragma once

#include <algorithm>

#include "core/simd/runtime/threads.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry::detail {

/// Elements of a stretch: about 10 µs of work when the values come from memory.
inline constexpr Size kStretch = 16 * 1024;

/// Starts of jobs (one per weight) on the line. Each start is rounded up to a multiple of 64 elements, so that cuts
/// fall on multiples of the SIMD width.
class ParameterChunks {
 public:
  /// Appends a job of `count` elements.
  void add(Size count) {
    starts_.push_back(length_);
    counts_.push_back(count);
    length_ += (count + 63) / 64 * 64;
  }
  /// Number of stretches.
  Size stretches() const { return simd::chunks_for(length_, kStretch); }

  /// Calls f(job, begin, end) for each part of a job in one stretch, in order. The range is in elements of the job.
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

  /// Calls f(job, begin, end) for all parts of all jobs, on all threads. The cuts depend on the counts alone.
  template <class F>
  void run(const F& f) const {
    simd::parallel_for(stretches(), [&](Size stretch) { walk(stretch, f); });
  }

 private:
  PoolVector<Size> starts_, counts_;
  Size length_ = 0;
};

}  // namespace tapestry::detail
