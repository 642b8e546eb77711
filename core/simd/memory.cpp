// The buffer pool's upper storey: size classes in per-thread lists, refilled from slabs that the heap below
// cuts.
#include "core/simd/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "core/simd/heap.hpp"

namespace tapestry::simd {
namespace {

using detail::Bytes;

// ---------------------------------------------------------------------------------------------------

constexpr int kStep = 64;  // classes up to 512 bytes are multiples of 64, then four to a doubling
constexpr Bytes kClasses = 8 + 6 * 4;

constexpr Bytes class_of(Bytes bytes) {
  if (bytes <= 8 * kStep) return bytes == 0 ? 0 : (bytes - 1) / kStep;
  return 8 + detail::scale_floor(bytes - 1, 2) - detail::scale_floor(8 * kStep, 2);
}
constexpr Bytes class_bytes(Bytes index) {
  return index < 8 ? (index + 1) * kStep : (5 + (index - 8) % 4) << (7 + (index - 8) / 4);
}
static_assert(class_of(kSmallBytes) == kClasses - 1 && class_bytes(kClasses - 1) == kSmallBytes);
static_assert(class_of(513) == 8 && class_bytes(8) == 640 && class_of(641) == 9 && class_bytes(9) == 768);

/// How many free blocks of a class a thread keeps for itself.
constexpr int kept(Bytes index) {
  return static_cast<int>(std::clamp<Bytes>((Bytes{256} << 10) / class_bytes(index), 16, 256));
}

struct Node {
  Node* next;
};

struct List {
  Node* head = nullptr;
  int room = 0;  // how many more blocks the list takes

  TAPESTRY_NO_ASAN void push(void* block) {
    Node* node = static_cast<Node*>(block);
    node->next = head;
    head = node;
    --room;
  }
  TAPESTRY_NO_ASAN void* pop() {
    Node* node = head;
    head = node->next;
    ++room;
    return node;
  }
};

/// A thread's free blocks. Without room, and without blocks, until its thread first needs the slow path and
/// again once its thread has ended; it has no destructor of its own, so it may be used at any time.
struct Cache {
  std::array<List, kClasses> lists{};
  std::atomic<Size> in_use{0};  // written by its thread alone; negative where it frees what others allocated
  enum { kFresh, kLive, kEnded } state = kFresh;
  Cache* next = nullptr;

  void count(Size bytes) {
    in_use.store(in_use.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
};

struct Shared {
  std::mutex mutex;
  detail::Heap heap;
  std::array<List, kClasses> lists{};
  Cache* caches = nullptr;
  Bytes slab_bytes = 0;
  Size ended_in_use = 0;
};

constinit Shared g_shared;
constinit thread_local Cache t_cache;

/// Hands a thread's blocks back when it ends.
struct Ending {
  ~Ending() {
    Cache& cache = t_cache;
    const std::lock_guard lock(g_shared.mutex);
    for (Bytes i = 0; i < kClasses; ++i) {
      while (cache.lists[i].head != nullptr) g_shared.lists[i].push(cache.lists[i].pop());
      cache.lists[i].room = 0;
    }
    g_shared.ended_in_use += cache.in_use.exchange(0, std::memory_order_relaxed);
    Cache** link = &g_shared.caches;
    while (*link != &cache) link = &(*link)->next;
    *link = cache.next;
    cache.state = Cache::kEnded;
  }
};

void begin(Cache& cache) {
  thread_local Ending ending;
  static_cast<void>(ending);
  for (Bytes i = 0; i < kClasses; ++i) cache.lists[i].room = kept(i);
  cache.next = g_shared.caches;
  g_shared.caches = &cache;
  cache.state = Cache::kLive;
}

void cut_slab(Bytes index) {
  const Bytes size = class_bytes(index);
  const Bytes bytes = std::max<Bytes>(64 * 1024, 8 * size);
  const Bytes before = g_shared.heap.in_use;
  char* slab = static_cast<char*>(g_shared.heap.allocate(bytes));
  g_shared.slab_bytes += g_shared.heap.in_use - before;
  for (Bytes i = bytes / size; i-- > 0;) g_shared.lists[index].push(slab + i * size);
}

__attribute__((noinline)) void* allocate_slowly(Cache& cache, Bytes index) {
  const std::lock_guard lock(g_shared.mutex);
  List& source = g_shared.lists[index];
  if (source.head == nullptr) cut_slab(index);
  if (cache.state == Cache::kEnded) {
    g_shared.ended_in_use += static_cast<Size>(class_bytes(index));
    return source.pop();
  }
  if (cache.state == Cache::kFresh) begin(cache);
  for (int i = kept(index) / 2; i > 0 && source.head != nullptr; --i) cache.lists[index].push(source.pop());
  cache.count(static_cast<Size>(class_bytes(index)));
  return cache.lists[index].pop();
}

__attribute__((noinline)) void release_slowly(Cache& cache, Bytes index, void* block) {
  const std::lock_guard lock(g_shared.mutex);
  if (cache.state == Cache::kEnded) {
    g_shared.lists[index].push(block);
    g_shared.ended_in_use -= static_cast<Size>(class_bytes(index));
    return;
  }
  if (cache.state == Cache::kFresh) begin(cache);
  List& list = cache.lists[index];
  if (list.room == 0) {
    for (int i = kept(index) / 2; i > 0; --i) g_shared.lists[index].push(list.pop());
  }
  list.push(block);
  cache.count(-static_cast<Size>(class_bytes(index)));
}

}  // namespace

void* pool_allocate(std::size_t bytes) {
  void* block = nullptr;
  if (bytes <= kSmallBytes) {
    const Bytes index = class_of(bytes);
    Cache& cache = t_cache;
    List& list = cache.lists[index];
    if (list.head != nullptr) {
      block = list.pop();
      cache.count(static_cast<Size>(class_bytes(index)));
    } else {
      block = allocate_slowly(cache, index);
    }
  } else {
    if (bytes > Bytes{1} << 46) throw std::bad_alloc();
    const std::lock_guard lock(g_shared.mutex);
    block = g_shared.heap.allocate(bytes);
  }
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

void pool_release(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  ASAN_POISON_MEMORY_REGION(block, detail::round_up(bytes, 8));
  if (bytes <= kSmallBytes) {
    const Bytes index = class_of(bytes);
    Cache& cache = t_cache;
    List& list = cache.lists[index];
    if (list.room > 0) {
      list.push(block);
      cache.count(-static_cast<Size>(class_bytes(index)));
    } else {
      release_slowly(cache, index, block);
    }
  } else {
    const std::lock_guard lock(g_shared.mutex);
    g_shared.heap.release(block);
  }
}

PoolStats pool_stats() {
  const std::lock_guard lock(g_shared.mutex);
  Size in_use = g_shared.ended_in_use + static_cast<Size>(g_shared.heap.in_use - g_shared.slab_bytes);
  for (const Cache* cache = g_shared.caches; cache != nullptr; cache = cache->next) {
    in_use += cache->in_use.load(std::memory_order_relaxed);
  }
  return {static_cast<Size>(g_shared.heap.reserved), in_use, g_shared.heap.system_allocs};
}

}  // namespace tapestry::simd
