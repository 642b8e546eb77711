// Buffer pool: aligned blocks that are reused instead of freed, so that a training loop stops allocating.
//
// The pool has two levels. Blocks up to kSmallBytes come in size classes, four per doubling, from free lists that
// each thread owns and uses without a lock. Larger blocks are cut from mapped segments and merge with their free
// neighbours on release, so that a smaller batch fits into the memory of a larger one. No memory is returned to the
// system.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "core/simd/view.hpp"

namespace tapestry::simd {

/// Alignment of every block, in bytes.
inline constexpr std::size_t kBlockAlignment = 64;
/// Largest block that the size classes serve, in bytes.
inline constexpr std::size_t kSmallBytes = 32 * 1024;

/// Returns `bytes` (0 is allowed) of uninitialised memory, aligned to kBlockAlignment. Throws std::bad_alloc, which
/// tensors convert to Error.
[[nodiscard]] void* pool_allocate(std::size_t bytes);

/// Releases a block of pool_allocate(bytes). May be called from any thread, also during thread exit and static
/// destruction. Ignores a null pointer.
void pool_release(void* block, std::size_t bytes) noexcept;

/// Memory use of the pool. Other threads may change it while it is read.
struct PoolStats {
  Size reserved;       ///< bytes of address space taken from the system; untouched pages cost nothing
  Size in_use;         ///< bytes of blocks handed out, rounding included
  Size system_allocs;  ///< number of requests to the system for memory
};
/// Returns the current memory use of the pool.
PoolStats pool_stats();

/// The pool as an allocator for std::vector.
template <class T>
struct PoolAllocator {
  /// Element type, which std::allocator_traits needs.
  using value_type = T;

  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) noexcept {}

  /// Returns memory for `count` elements, aligned to kBlockAlignment. Throws std::bad_alloc.
  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= kBlockAlignment);
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(pool_allocate(count * sizeof(T)));
  }
  /// Releases a block of allocate(count).
  void deallocate(T* block, std::size_t count) noexcept { pool_release(block, count * sizeof(T)); }

  template <class U>
  friend bool operator==(const PoolAllocator&, const PoolAllocator<U>&) noexcept {
    return true;
  }
};

}  // namespace tapestry::simd
