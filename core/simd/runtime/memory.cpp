// Upper level of the buffer pool: size classes in per-thread free lists, refilled with slabs from the heap.
#include "core/simd/runtime/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/simd/runtime/heap.hpp"

namespace tapestry::simd {
namespace {

using detail::Bytes;

// ---------------------------------------------------------------------------------------------------

constexpr int kStep = 64;  // classes up to 512 bytes are multiples of 64, larger ones four per doubling
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

/// Table of class_of() for up to 0, 64, 128, … bytes, since most ops are small and each allocates.
constexpr auto kClassOf = [] {
  std::array<std::uint8_t, kSmallBytes / kStep + 1> table{};
  for (Bytes i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(class_of(i * kStep));
  return table;
}();
constexpr Bytes small_class(Bytes bytes) { return kClassOf[(bytes + kStep - 1) / kStep]; }

/// Largest number of free blocks of a class that a thread keeps.
constexpr int kept(Bytes index) {
  return static_cast<int>(std::clamp<Bytes>((Bytes{256} << 10) / class_bytes(index), 16, 256));
}

struct Node {
  Node* next;
};

struct List {
  Node* head = nullptr;
  std::atomic<int> size{0};  // written by one thread at a time, read by pool_stats() too
  int limit = 0;             // largest number of blocks

  TAPESTRY_NO_ASAN void push(void* block) {
    Node* node = static_cast<Node*>(block);
    node->next = head;
    head = node;
    count(1);
  }
  TAPESTRY_NO_ASAN void* pop() {
    Node* node = head;
    head = node->next;
    count(-1);
    return node;
  }
  Size blocks() const { return size.load(std::memory_order_relaxed); }

 private:
  void count(int change) {
    size.store(size.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
};

/// A thread's free blocks. The lists are empty with limit 0 until the thread first takes the slow path, and again after
/// it has ended. A cache has no destructor, so it may be used at any time.
struct Cache {
  std::array<List, kClasses> lists{};
  enum { kFresh, kLive, kEnded } state = kFresh;
  Cache* next = nullptr;
};

struct Shared {
  std::mutex mutex;
  detail::Heap heap;
  std::array<List, kClasses> lists{};
  std::array<Size, kClasses> cut{};  // blocks of each class in existence
  Cache* caches = nullptr;
  Bytes slab_bytes = 0;
};

constinit Shared g_shared;
constinit thread_local Cache t_cache;

/// Returns a thread's blocks to the shared lists when the thread ends.
struct Ending {
  ~Ending() {
    Cache& cache = t_cache;
    const std::lock_guard lock(g_shared.mutex);
    for (Bytes i = 0; i < kClasses; ++i) {
      while (cache.lists[i].head != nullptr) g_shared.lists[i].push(cache.lists[i].pop());
      cache.lists[i].limit = 0;
    }
    Cache** link = &g_shared.caches;
    while (*link != &cache) link = &(*link)->next;
    *link = cache.next;
    cache.state = Cache::kEnded;
  }
};

void begin(Cache& cache) {
  thread_local Ending ending;
  static_cast<void>(ending);
  for (Bytes i = 0; i < kClasses; ++i) cache.lists[i].limit = kept(i);
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
  g_shared.cut[index] += static_cast<Size>(bytes / size);
}

[[gnu::noinline]] void* allocate_slowly(Cache& cache, Bytes index) {
  const std::lock_guard lock(g_shared.mutex);
  List& source = g_shared.lists[index];
  if (source.head == nullptr) cut_slab(index);
  if (cache.state == Cache::kEnded) return source.pop();
  if (cache.state == Cache::kFresh) begin(cache);
  for (int i = kept(index) / 2; i > 0 && source.head != nullptr; --i) cache.lists[index].push(source.pop());
  return cache.lists[index].pop();
}

[[gnu::noinline]] void release_slowly(Cache& cache, Bytes index, void* block) noexcept {
  const std::lock_guard lock(g_shared.mutex);
  if (cache.state == Cache::kEnded) return g_shared.lists[index].push(block);
  if (cache.state == Cache::kFresh) begin(cache);
  List& list = cache.lists[index];
  if (list.blocks() >= list.limit) {
    for (int i = kept(index) / 2; i > 0; --i) g_shared.lists[index].push(list.pop());
  }
  list.push(block);
}

[[gnu::noinline]] void* allocate_large(Bytes bytes) {
  if (bytes > Bytes{1} << (sizeof(Bytes) == 8 ? 46 : 31)) throw std::bad_alloc();
  const std::lock_guard lock(g_shared.mutex);
  return g_shared.heap.allocate(bytes);
}

[[gnu::noinline]] void release_large(void* block) noexcept {
  const std::lock_guard lock(g_shared.mutex);
  g_shared.heap.release(block);
}

}  // namespace

void* pool_allocate(std::size_t bytes) {
  void* block = nullptr;
  if (bytes <= kSmallBytes) {
    const Bytes index = small_class(bytes);
    Cache& cache = t_cache;
    List& list = cache.lists[index];
    block = list.head != nullptr ? list.pop() : allocate_slowly(cache, index);
  } else {
    block = allocate_large(bytes);
  }
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

void pool_release(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  ASAN_POISON_MEMORY_REGION(block, detail::round_up(bytes, 8));
  if (bytes <= kSmallBytes) {
    const Bytes index = small_class(bytes);
    Cache& cache = t_cache;
    List& list = cache.lists[index];
    list.blocks() < list.limit ? list.push(block) : release_slowly(cache, index, block);
  } else {
    release_large(block);
  }
}

PoolStats pool_stats() {
  const std::lock_guard lock(g_shared.mutex);
  auto in_use = static_cast<Size>(g_shared.heap.in_use - g_shared.slab_bytes);
  for (Bytes i = 0; i < kClasses; ++i) {
    Size blocks = g_shared.cut[i] - g_shared.lists[i].blocks();
    for (const Cache* cache = g_shared.caches; cache != nullptr; cache = cache->next)
      blocks -= cache->lists[i].blocks();
    in_use += blocks * static_cast<Size>(class_bytes(i));
  }
  return {static_cast<Size>(g_shared.heap.reserved), in_use, g_shared.heap.system_allocs};
}

}  // namespace tapestry::simd
