// The buffer pool: alignment, reuse, size classes, merging, threads, thread exit, and ASan's view of free
// memory.
#include "core/simd/runtime/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/simd/runtime/heap.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"

#ifdef TAPESTRY_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

using namespace tapestry;
using namespace tapestry::simd;

namespace {

struct Block {
  unsigned char* data;
  std::size_t bytes;
  unsigned char mark;
};

Block take(std::size_t bytes, unsigned char mark) {
  Block block{static_cast<unsigned char*>(pool_allocate(bytes)), bytes, mark};
  std::memset(block.data, mark, bytes);
  return block;
}

/// True when the block still holds its mark at both ends and in the middle.
bool intact(const Block& block) {
  return block.bytes == 0 || (block.data[0] == block.mark && block.data[block.bytes / 2] == block.mark &&
                              block.data[block.bytes - 1] == block.mark);
}

constexpr std::size_t kMiB = std::size_t{1} << 20;

}  // namespace

TEST_CASE("blocks are aligned, disjoint and keep their contents", "[memory]") {
  std::vector<Block> blocks;
  unsigned char mark = 1;
  for (std::size_t bytes = 0; bytes < 1100; bytes += 13) blocks.push_back(take(bytes, mark++));
  for (std::size_t bytes : {std::size_t{4095}, std::size_t{4096}, kSmallBytes - 1, kSmallBytes,
                            kSmallBytes + 1, std::size_t{100000}, kMiB, 2 * kMiB, 5 * kMiB + 3, 80 * kMiB}) {
    blocks.push_back(take(bytes, mark++));
  }
  for (const Block& block : blocks) {
    CHECK(reinterpret_cast<std::uintptr_t>(block.data) % kBlockAlignment == 0);
    CHECK(intact(block));
  }
  for (const Block& block : blocks) pool_release(block.data, block.bytes);
  pool_release(nullptr, 64);
}

TEST_CASE("sizes are told apart in so many steps to a doubling", "[memory]") {
  using detail::scale_floor;
  for (int bits = 1; bits <= 3; ++bits) {
    const std::size_t steps = std::size_t{1} << bits;
    for (int log = bits + 1; log < std::numeric_limits<std::size_t>::digits; ++log) {
      for (std::size_t step = 0; step < steps; ++step) {
        const std::size_t bound = (steps + step) << (log - bits);
        CAPTURE(bits, log, step);
        CHECK(scale_floor(bound, bits) == static_cast<std::size_t>(log - bits + 1) * steps + step);
        CHECK(scale_floor(bound - 1, bits) == scale_floor(bound, bits) - 1);
      }
    }
  }
}

TEST_CASE("what is in use is counted and wastes at most a quarter", "[memory]") {
  for (std::size_t bytes : {std::size_t{64}, std::size_t{257}, std::size_t{513}, std::size_t{1281},
                            std::size_t{20481}, kSmallBytes + 1, kMiB + 1, 3 * kMiB}) {
    CAPTURE(bytes);
    const Size before = pool_stats().in_use;
    void* block = pool_allocate(bytes);
    const Size used = pool_stats().in_use - before;
    CHECK(used >= static_cast<Size>(bytes));
    CHECK(4 * used <= 5 * static_cast<Size>(bytes) + 4 * 64);
    pool_release(block, bytes);
    CHECK(pool_stats().in_use == before);
  }
}

TEST_CASE("a released block is the next one of its size", "[memory]") {
  for (std::size_t bytes : {std::size_t{40}, std::size_t{5000}, 3 * kMiB}) {
    void* first = pool_allocate(bytes);
    pool_release(first, bytes);
    void* second = pool_allocate(bytes);
    CHECK(second == first);
    pool_release(second, bytes);
  }
}

TEST_CASE("free neighbours merge on either side, so a large block fits where small ones were", "[memory]") {
  // Address space only: nothing is touched. The pieces are larger than what other tests may have left free.
  constexpr std::size_t piece = 70 * kMiB, whole = 8 * piece + kMiB;
  char* const start = static_cast<char*>(pool_allocate(whole));
  pool_release(start, whole);
  for (const bool rising : {true, false}) {
    std::vector<void*> pieces;
    for (int i = 0; i < 8; ++i) pieces.push_back(pool_allocate(piece));
    int cut_from_whole = 0;
    for (void* block : pieces) {
      const auto distance = reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(start);
      cut_from_whole += distance < whole;
    }
    CHECK(cut_from_whole >= 4);
    const Size asked = pool_stats().system_allocs;
    if (!rising) std::reverse(pieces.begin(), pieces.end());
    for (void* block : pieces) pool_release(block, piece);
    pool_release(pool_allocate(whole), whole);
    CHECK(pool_stats().system_allocs == asked);
  }
}

TEST_CASE("a training loop with changing batch shapes stops asking the system", "[memory]") {
  std::mt19937 random(7);
  const auto step = [&](std::size_t rows) {
    std::vector<Block> saved;
    for (int op = 0; op < 40; ++op) {
      saved.push_back(take(rows * (op % 5 == 0 ? 16384 : 1024), static_cast<unsigned char>(op)));
      const Block temporary = take(rows * 4096, 1);
      saved.push_back(take(rows, 2));
      pool_release(temporary.data, temporary.bytes);
    }
    while (!saved.empty()) {
      REQUIRE(intact(saved.back()));
      pool_release(saved.back().data, saved.back().bytes);
      saved.pop_back();
    }
  };
  step(200);  // the largest
  step(200);
  const PoolStats before = pool_stats();
  for (int i = 0; i < 100; ++i) step(1 + random() % 200);
  const PoolStats after = pool_stats();
  CHECK(after.system_allocs == before.system_allocs);
  CHECK(after.reserved == before.reserved);
  CHECK(after.in_use == before.in_use);
}

TEST_CASE("random traffic from several threads, freed by others", "[memory][threads]") {
  const Size before = pool_stats().in_use;
  std::mutex mutex;
  std::vector<Block> exchange;
  std::vector<int> damaged(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < damaged.size(); ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 3000; ++i) {
        const std::size_t bytes = random() % (i % 10 == 0 ? 300000 : 3000);
        Block block = take(bytes, static_cast<unsigned char>(random()));
        const std::lock_guard lock(mutex);
        if (exchange.size() < 200) {
          exchange.push_back(block);
          continue;
        }
        std::swap(block, exchange[random() % exchange.size()]);
        damaged[t] += !intact(block);
        pool_release(block.data, block.bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(damaged == std::vector<int>(4, 0));
  for (const Block& block : exchange) {
    CHECK(intact(block));
    pool_release(block.data, block.bytes);
  }
  CHECK(pool_stats().in_use == before);
}

namespace {
/// Frees and allocates while its thread ends, after the pool's own clean-up as well as before it.
struct FreesLate {
  void* block = nullptr;
  ~FreesLate() {
    void* another = pool_allocate(128);
    std::memset(another, 1, 128);
    pool_release(another, 128);
    pool_release(block, 128);
  }
};
thread_local FreesLate t_before, t_after;

/// The same during static destruction.
struct FreesAtExit {
  void* block = pool_allocate(256);
  ~FreesAtExit() {
    pool_release(pool_allocate(999), 999);
    pool_release(block, 256);
  }
} g_frees_at_exit;
}  // namespace

TEST_CASE("blocks may be freed while a thread ends", "[memory][threads]") {
  const Size before = pool_stats().in_use;
  std::thread([] {
    t_before.block = nullptr;  // constructed before the thread's first block, so destroyed after its lists
    void* block = pool_allocate(128);
    t_after.block = pool_allocate(128);
    t_before.block = block;
  }).join();
  CHECK(pool_stats().in_use == before);
}

TEST_CASE("a thread that ends gives its blocks back", "[memory][threads]") {
  const auto traffic = [] {
    std::vector<Block> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(take(8192, 5));
    for (const Block& block : blocks) pool_release(block.data, block.bytes);
  };
  std::thread(traffic).join();
  const PoolStats before = pool_stats();
  for (int i = 0; i < 100; ++i) std::thread(traffic).join();  // 160 MiB if each kept its own
  CHECK(pool_stats().system_allocs == before.system_allocs);
}

TEST_CASE("a thread takes some of the free blocks, and leaves others to the next", "[memory][threads]") {
  constexpr std::size_t kBytes = 8192;
  std::set<void*> freed;
  std::thread([&] {
    std::vector<void*> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(pool_allocate(kBytes));
    for (void* block : blocks) pool_release(block, kBytes);
    freed.insert(blocks.begin(), blocks.end());
  }).join();
  Size reused = 0;
  std::thread([&] {
    void* const one = pool_allocate(kBytes);
    std::thread([&] {  // while that one goes on
      std::vector<void*> blocks;
      for (int i = 0; i < 100; ++i) blocks.push_back(pool_allocate(kBytes));
      for (void* block : blocks) {
        reused += freed.count(block) == 1;
        pool_release(block, kBytes);
      }
    })
        .join();
    pool_release(one, kBytes);
  }).join();
  CHECK(reused == 100);
}

TEST_CASE("the pool serves std::vector", "[memory]") {
  std::vector<double, PoolAllocator<double>> values;
  for (int i = 0; i < 10000; ++i) values.push_back(i);
  CHECK(values[9999] == 9999.0);
  CHECK(reinterpret_cast<std::uintptr_t>(values.data()) % kBlockAlignment == 0);
}

TEST_CASE("an impossible size is bad_alloc and the pool goes on", "[memory]") {
  CHECK_THROWS_AS(pool_allocate(~std::size_t{0}), std::bad_alloc);
  CHECK_THROWS_AS(pool_allocate(~std::size_t{0} / (sizeof(std::size_t) == 8 ? 131072 : 1)), std::bad_alloc);
  CHECK_THROWS_AS(PoolAllocator<double>{}.allocate(~std::size_t{0} / 4), std::bad_array_new_length);
  const Block block = take(2 * kMiB, 3);
  CHECK(intact(block));
  pool_release(block.data, block.bytes);
}

// Address space only. A sanitizer would mark each byte of it.
TEST_CASE("a block of any size comes, goes and leaves the others as they were", "[memory][unsanitized]") {
  const Block small = take(1000, 1), large = take(3 * kMiB, 2);
  const PoolStats before = pool_stats();
  for (const int power : {30, 33, 36, 40}) {
    CAPTURE(power);
    if (power >= std::numeric_limits<std::size_t>::digits) break;
    void* block = nullptr;
    try {
      block = pool_allocate(std::size_t{1} << power);
    } catch (const std::bad_alloc&) {
      WARN("the system gives no 2^" << power << " bytes of address space");
      break;
    }
    CHECK(pool_stats().in_use >= before.in_use + (Size{1} << power));
    pool_release(block, std::size_t{1} << power);
    CHECK(pool_stats().in_use == before.in_use);
    CHECK(pool_stats().reserved % static_cast<Size>(2 * kMiB) == 0);
    std::vector<Block> others;
    for (std::size_t bytes : {std::size_t{64}, std::size_t{5000}, kSmallBytes + 1, kMiB, 70 * kMiB})
      others.push_back(take(bytes, 9));
    for (const Block& other : others) {
      CHECK(intact(other));
      pool_release(other.data, other.bytes);
    }
    CHECK(pool_stats().in_use == before.in_use);
  }
  for (const Block& block : {small, large}) {
    CHECK(intact(block));
    pool_release(block.data, block.bytes);
  }
}

#ifdef TAPESTRY_ADDRESS_SANITIZER
TEST_CASE("ASan sees free blocks, the slack behind used ones and the gap before them", "[memory]") {
  for (std::size_t bytes : {std::size_t{100}, std::size_t{5000}, kMiB + 8}) {
    CAPTURE(bytes);
    char* block = static_cast<char*>(pool_allocate(bytes));
    CHECK(__asan_region_is_poisoned(block, bytes) == nullptr);
    CHECK(__asan_address_is_poisoned(block + bytes));
    pool_release(block, bytes);
    CHECK(__asan_address_is_poisoned(block));
    CHECK(__asan_address_is_poisoned(block + bytes - 1));
  }
  char* large = static_cast<char*>(pool_allocate(kMiB));
  CHECK(__asan_address_is_poisoned(large - 1));
  pool_release(large, kMiB);
}
#endif
