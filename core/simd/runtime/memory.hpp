// The buffer pool: aligned blocks that are reused instead of given back, so a training loop stops allocating.
//
// Two storeys. Blocks up to kSmallBytes come in size classes, four to a doubling, from free lists that each
// thread owns and uses without a lock. Larger blocks are cut from mapped segments and merge with their free
// neighbours again, so that a smaller batch fits into what a larger one left. Nothing goes back to the
// system.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "core/simd/view.hpp"

namespace tapestry::simd {

/// Every block starts at a multiple of this many bytes.
inline constexpr std::size_t kBlockAlignment = 64;
/// The largest block that the size classes serve.
inline constexpr std::size_t kSmallBytes = 32 * 1024;

/// `bytes` (0 is legal) of uninitialised memory, aligned to kBlockAlignment. Throws std::bad_alloc;
/// tensors make an Error of it.
[[nodiscard]] void* pool_allocate(std::size_t bytes);

/// Takes back a block of pool_allocate(bytes), from any thread, during thread exit and static destruction
/// too. A null pointer is ignored.
void pool_release(void* block, std::size_t bytes) noexcept;

/// What the pool holds; while other threads allocate, a snapshot.
struct PoolStats {
  Size reserved;       ///< bytes of address space taken from the system; untouched pages cost nothing
  Size in_use;         ///< bytes of blocks handed out, rounding included
  Size system_allocs;  ///< how often the system was asked for memory
};
/// The pool's numbers at present.
PoolStats pool_stats();

/// The pool as an allocator for std::vector.
template <class T>
struct PoolAllocator {
  /// As std::allocator_traits asks for it.
  using value_type = T;

  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) noexcept {}

  /// Memory for so many, aligned to kBlockAlignment. Throws std::bad_alloc.
  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= kBlockAlignment);
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(pool_allocate(count * sizeof(T)));
  }
  /// Takes back what allocate(count) gave.
  void deallocate(T* block, std::size_t count) noexcept { pool_release(block, count * sizeof(T)); }

  template <class U>
  friend bool operator==(const PoolAllocator&, const PoolAllocator<U>&) noexcept {
    return true;
  }
};

}  // namespace tapestry::simd
