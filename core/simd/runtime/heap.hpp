// Heap of large blocks for the buffer pool; used only by core/simd/runtime/memory.cpp.
//
// A segment is a sequence of blocks, each after a 64-byte header:
//
//     | header | 3 MiB in use | header | 1 MiB free | header | 60 MiB free: never touched so far |
//
// Free blocks are in bins by size, eight bins per doubling. A request takes the first block that fits from the lowest
// bin, so that untouched memory is used last, and returns the surplus to the heap. A release merges the block with its
// free neighbours. Under ASan, all memory except the bytes in use is poisoned, so the functions that read headers and
// lists are exempt.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "core/simd/runtime/memory.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define TAPESTRY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAPESTRY_ASAN 1
#endif
#endif

#ifdef TAPESTRY_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#define TAPESTRY_NO_ASAN __attribute__((no_sanitize_address))
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes) (static_cast<void>(begin), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes) (static_cast<void>(begin), static_cast<void>(bytes))
#define TAPESTRY_NO_ASAN
#endif

namespace tapestry::simd::detail {

using Bytes = std::size_t;

inline constexpr Bytes kHugePage = Bytes{2} << 20;
inline constexpr Bytes kMinSegment = Bytes{64} << 20;  // address space; only touched pages cost memory
inline constexpr Bytes kMinRest = 1024;                // a smaller surplus stays with its block

/// Gap between blocks, so that tensors of 2^n bytes do not all start at the same offset in a page. A load stalls if
/// its last 12 address bits equal those of a pending store.
inline constexpr Bytes kStagger = 13 * kBlockAlignment;

constexpr Bytes round_up(Bytes bytes, Bytes step) { return (bytes + step - 1) / step * step; }

/// Position on a logarithmic scale with 2^bits steps per doubling, rounded down to a step.
constexpr Bytes scale_floor(Bytes bytes, int bits) {
  const int log = static_cast<int>(std::bit_width(bytes)) - 1;
  return (static_cast<Bytes>(log - bits) << bits) + (bytes >> (log - bits));
}

struct alignas(kBlockAlignment) Header {
  Bytes size;      // header included
  Bytes previous;  // size of the left neighbour, 0 at the start of a segment
  bool last;       // no right neighbour
  bool free;
  Header* next_free;
  Header* prev_free;
};
inline constexpr Bytes kHeader = sizeof(Header);
static_assert(kHeader == kBlockAlignment);

struct Heap {
  static constexpr int kBits = 3;
  static constexpr Bytes kBins = 512;

  std::array<Header*, kBins> bins{};
  std::array<std::uint64_t, kBins / 64> filled{};
  Bytes reserved = 0, in_use = 0;
  Size system_allocs = 0;

  TAPESTRY_NO_ASAN static Header* right_of(Header* block) {
    return block->last ? nullptr : reinterpret_cast<Header*>(reinterpret_cast<char*>(block) + block->size);
  }

  TAPESTRY_NO_ASAN void insert(Header* block) {
    const Bytes bin = scale_floor(block->size, kBits);
    block->free = true;
    block->prev_free = nullptr;
    block->next_free = bins[bin];
    if (bins[bin] != nullptr) bins[bin]->prev_free = block;
    bins[bin] = block;
    filled[bin / 64] |= std::uint64_t{1} << bin % 64;
  }

  TAPESTRY_NO_ASAN void remove(Header* block) {
    const Bytes bin = scale_floor(block->size, kBits);
    block->free = false;
    if (block->next_free != nullptr) block->next_free->prev_free = block->prev_free;
    if (block->prev_free != nullptr) {
      block->prev_free->next_free = block->next_free;
    } else {
      bins[bin] = block->next_free;
      if (bins[bin] == nullptr) filled[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
    }
  }

  /// Returns a free block of at least `size` bytes, or null. Tries at most 16 blocks of the bin that contains `size`.
  TAPESTRY_NO_ASAN Header* find(Bytes size) const {
    const Bytes own = scale_floor(size, kBits);
    int tries = 16;
    for (Header* block = bins[own]; block != nullptr && tries-- > 0; block = block->next_free) {
      if (block->size >= size) return block;
    }
    for (Bytes bin = own + 1; bin < kBins; bin = (bin / 64 + 1) * 64) {
      const std::uint64_t above = filled[bin / 64] >> bin % 64;
      if (above != 0) return bins[bin + static_cast<Bytes>(std::countr_zero(above))];
    }
    return nullptr;
  }

  TAPESTRY_NO_ASAN void* allocate(Bytes bytes) {
    const Bytes size = round_up(bytes, kBlockAlignment) + kStagger + kHeader;
    Header* block = find(size);
    if (block == nullptr) {
      block = new_segment(size);
    } else {
      remove(block);
    }
    if (block->size - size >= kMinRest) {
      Header* right = right_of(block);
      Header* rest = reinterpret_cast<Header*>(reinterpret_cast<char*>(block) + size);
      rest->size = block->size - size;
      rest->previous = size;
      rest->last = block->last;
      if (right != nullptr) right->previous = rest->size;
      block->size = size;
      block->last = false;
      insert(rest);
    }
    in_use += block->size;
    return block + 1;
  }

  TAPESTRY_NO_ASAN void release(void* data) {
    Header* block = static_cast<Header*>(data) - 1;
    in_use -= block->size;
    if (Header* right = right_of(block); right != nullptr && right->free) {
      remove(right);
      block->size += right->size;
      block->last = right->last;
    }
    if (block->previous != 0) {
      Header* left = reinterpret_cast<Header*>(reinterpret_cast<char*>(block) - block->previous);
      if (left->free) {
        remove(left);
        left->size += block->size;
        left->last = block->last;
        block = left;
      }
    }
    if (Header* right = right_of(block); right != nullptr) right->previous = block->size;
    insert(block);
  }

  TAPESTRY_NO_ASAN Header* new_segment(Bytes size) {
    // Segments grow with the heap, so that requests are rare. If the system refuses, ask for the minimum.
    const Bytes needed = round_up(size, kHugePage);
    Bytes bytes = std::max({needed, kMinSegment, round_up(reserved / 4, kHugePage)});
    char* start = map(bytes);
    if (start == nullptr) start = map(bytes = needed);
    if (start == nullptr) throw std::bad_alloc();
    reserved += bytes;
    ++system_allocs;
#ifdef TAPESTRY_ASAN
    ASAN_POISON_MEMORY_REGION(start, bytes);
    __lsan_register_root_region(start, bytes);  // blocks may hold the only pointer to an object
#endif
    Header* block = reinterpret_cast<Header*>(start);
    block->size = bytes;
    block->previous = 0;
    block->last = true;
    block->free = false;
    return block;
  }

  static char* map(Bytes bytes) {
#ifdef __EMSCRIPTEN__  // its munmap cannot release part of an area
    return static_cast<char*>(std::aligned_alloc(kHugePage, bytes));
#else
    void* area = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) return nullptr;
    const Bytes address = reinterpret_cast<Bytes>(area);
    const Bytes before = round_up(address, kHugePage) - address;
    char* start = static_cast<char*>(area) + before;
    if (before != 0) munmap(area, before);
    if (before != kHugePage) munmap(start + bytes, kHugePage - before);
#ifdef MADV_HUGEPAGE  // Linux
    madvise(start, bytes, MADV_HUGEPAGE);
#endif
    return start;
#endif
  }
};

}  // namespace tapestry::simd::detail
