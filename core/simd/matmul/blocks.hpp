// Helpers of matmul and attention: rounding to multiples, chunks that may run in parallel, and scratch memory.
#pragma once

#include <cstddef>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

constexpr Size ceil_div(Size n, Size by) { return (n + by - 1) / by; }
constexpr Size round_up(Size n, Size step) { return ceil_div(n, step) * step; }

/// Calls body(chunk) for each chunk, on all threads if `parallel`, otherwise on the calling thread.
template <class F>
void each(bool parallel, Size chunks, const F& body) {
  if (parallel) return parallel_for(chunks, body);
  for (Size chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

/// Uninitialised scratch memory from the buffer pool, for `count` elements.
template <class T>
class Scratch {
 public:
  explicit Scratch(Size count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(count > 0 ? static_cast<T*>(pool_allocate(bytes_)) : nullptr) {}
  ~Scratch() { pool_release(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_;
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
