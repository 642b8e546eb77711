// Memory: the peak of a piece of work above its inputs, and what a training step asks the system for.
//
//     bench_memory peak NAME          MiB, of attention_T4096_full or _causal, programmed_… (T = 2048; the
//                                     names of programmed.hpp), length_WAY_N (N words; the ways of lengths.hpp), or
//                                     a training step
//     bench_memory allocations NAME   calls of operator new and of mmap, and blocks that the pool did not
//                                     have, a training step, once its shapes have been seen
#include "core/simd/runtime/memory.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "core/attention/attend.hpp"
#include "tests/bench/lengths.hpp"
#include "tests/bench/peak.hpp"
#include "tests/bench/programmed.hpp"
#include "tests/bench/steps.hpp"

namespace {

std::atomic<long> g_news{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  g_news.fetch_add(1, std::memory_order_relaxed);
  void* block = alignment == 0
                    ? std::malloc(bytes == 0 ? 1 : bytes)
                    : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

// The other forms of operator new and delete call these.
void* operator new(std::size_t bytes) { return counted(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace tapestry::bench {

namespace {

double attention_peak(Size heads, Size time, const AttendOptions& options) {
  const Dims shape{1, heads, time, 64};
  const Tensor query = leaf(shape), key = leaf(shape, 2), value = leaf(shape, 3), dy = random(shape, 4);
  return peak_of([&] {
    Tape tape;
    tape.backward(attend(query, key, value, options), dy);
  });
}

double length_peak(const std::string& way, Size words) {
  const LengthCase attention(way, words);
  const Tensor dy = random(attention.query.shape(), 4);
  return peak_of([&] {
    Tape tape;
    tape.backward(attention(), dy);
  });
}

double peak(const std::string& name) {
  // The first, short one: what is set up at first use.
  for (const bool causal : {false, true}) {
    if (name != (causal ? "attention_T4096_causal" : "attention_T4096_full")) continue;
    const auto options = [&](Size time) {
      return causal ? AttendOptions{.mask = BlockMask::causal(time, time)} : AttendOptions{};
    };
    attention_peak(1, 32, options(32));
    return attention_peak(8, 4096, options(4096));
  }
  if (name.starts_with("length_")) {
    const std::size_t end = name.rfind('_');
    const std::string way = name.substr(7, end - 7);
    length_peak(way, 65);
    return length_peak(way, std::stoll(name.substr(end + 1)));
  }
  const std::string prefix = "programmed_";
  if (name.starts_with(prefix)) {
    const std::string rest = name.substr(prefix.size());
    attention_peak(kProgrammedHeads, 32, programmed(rest, 32));
    return attention_peak(kProgrammedHeads, 2048, programmed(rest, 2048));
  }
  const Step step = step_of(name);
  return peak_of([&] {
    for (int i = 0; i < 2; ++i) step();
  });
}

struct Counts {
  long news = g_news.load();
  Size pool = simd::pool_stats().system_allocs, reserved = simd::pool_stats().reserved;
  std::size_t mapped = mallinfo2().hblks, arena = mallinfo2().arena;
};

void allocations(const std::string& name) {
  constexpr int kSteps = 10;
  const Step step = step_of(name);
  for (int i = 0; i < 3; ++i) step();
  const Counts before;
  for (int i = 0; i < kSteps; ++i) step();
  const Counts after;
  const auto mapped =
      static_cast<double>(after.mapped - before.mapped) + (after.arena > before.arena ? 1 : 0);
  std::printf("{\"operator_new\": %g, \"pool_misses\": %g, \"mmap\": %g, \"pool_mib\": %.1f}\n",
              static_cast<double>(after.news - before.news) / kSteps,
              static_cast<double>(after.pool - before.pool) / kSteps, mapped / kSteps,
              static_cast<double>(after.reserved) / (1 << 20));
}

}  // namespace

}  // namespace tapestry::bench

int main(int argc, char** argv) {
  using namespace tapestry::bench;
  const std::string what = argc == 3 ? argv[1] : "";
  if (what != "peak" && what != "allocations") {
    std::fprintf(stderr, "usage: bench_memory peak NAME | bench_memory allocations NAME\n");
    return 2;
  }
  try {
    if (what == "peak") {
      std::printf("{\"peak_mib\": %.1f}\n", peak(argv[2]));
    } else {
      allocations(argv[2]);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_memory: %s\n", error.what());
    return 2;
  }
  return 0;
}
