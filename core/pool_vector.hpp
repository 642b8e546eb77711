// A vector whose memory comes from the buffer pool: for the lists that every training step makes and drops.
#pragma once

#include <cstddef>
#include <vector>

#include "core/simd/memory.hpp"

namespace tapestry::detail {

template <class T>
struct PoolAllocator {
  using value_type = T;

  PoolAllocator() = default;
  template <class Other>
  PoolAllocator(const PoolAllocator<Other>&) {}

  T* allocate(std::size_t count) { return static_cast<T*>(simd::pool_allocate(count * sizeof(T))); }
  void deallocate(T* items, std::size_t count) noexcept { simd::pool_release(items, count * sizeof(T)); }

  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

template <class T>
using PoolVector = std::vector<T, PoolAllocator<T>>;

}  // namespace tapestry::detail
