// Gradients of a score's learned values, summed over one task of attention's backward pass.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd {

/// Sums in f64, one for each learned value, all 0 at first. A page of memory is allocated when a sum in it is first
/// touched. So a task that reads only a part of a large table, such as one head's, needs memory for that part alone.
class LearnedSums {
 public:
  /// Number of sums in a page of 2 KiB.
  static constexpr Size kPage = 256;

  explicit LearnedSums(Size count)
      : count_(count), pages_(static_cast<std::size_t>(chunks_for(count, kPage))) {}
  ~LearnedSums() {
    for (double* page : pages_) pool_release(page, kPageBytes);
    for (double* page : unused_) pool_release(page, kPageBytes);
  }
  LearnedSums(const LearnedSums&) = delete;
  LearnedSums& operator=(const LearnedSums&) = delete;

  /// Adds `value` to sum `index`.
  void add(Size index, double value) { *at(index) += value; }
  /// Adds n values to the sums `first`, first + 1, ….
  template <class T>
  void add_row(Size first, const T* values, Size n) {
    for (Size done = 0; done < n;) {
      const Size here = std::min(n - done, kPage - (first + done) % kPage);
      double* to = at(first + done);
      for (Size i = 0; i < here; ++i) to[i] += static_cast<double>(values[done + i]);
      done += here;
    }
  }

  /// Number of pages for all sums.
  Size pages() const { return static_cast<Size>(pages_.size()); }
  /// Adds the sums of one page to `total`, which has one number for each learned value.
  void add_page_to(double* total, Size page) const {
    const double* from = pages_[static_cast<std::size_t>(page)];
    if (from == nullptr) return;
    const Size first = page * kPage, n = std::min(kPage, count_ - first);
    for (Size i = 0; i < n; ++i) total[first + i] += from[i];
  }
  /// Sets all sums to 0. The memory is kept for later sums.
  void clear() {
    for (const std::size_t page : touched_) unused_.push_back(std::exchange(pages_[page], nullptr));
    touched_.clear();
  }

 private:
  static constexpr std::size_t kPageBytes = kPage * sizeof(double);

  double* at(Size index) {
    double* page = pages_[static_cast<std::size_t>(index / kPage)];
    if (page == nullptr) [[unlikely]]
      page = touch(static_cast<std::size_t>(index / kPage));
    return page + index % kPage;
  }
  double* touch(std::size_t page) {
    if (unused_.empty()) unused_.emplace_back() = static_cast<double*>(pool_allocate(kPageBytes));
    touched_.push_back(page);
    double* memory = unused_.back();
    unused_.pop_back();
    std::fill_n(memory, kPage, 0.0);
    return pages_[page] = memory;
  }

  Size count_;
  std::vector<double*> pages_;  // null: all sums of the page are 0
  std::vector<std::size_t> touched_;
  std::vector<double*> unused_;
};

}  // namespace tapestry::simd
