// What this machine can do at most: FP32 multiply-adds a second, and bytes a second from each cache and
// memory: read, or read and written back, whichever is faster; and read from one array and written to
// another, which takes longer, since what is written is fetched before (with ordinary stores, as results are
// soon read). And square roots with a division each: they go through a unit of their own, many cycles each.
//
//     bench_limits THREADS
//
// Each thread is bound to a processor of its own and works on its own data. A limit is the best of many short
// measurements, since anything else on the machine can only take away from it. In plain C++ with the
// compiler's vectors, so that no kernel of ours is measured by itself.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif
typedef float Vector __attribute__((vector_size(kVectorBytes), aligned(kVectorBytes)));
constexpr int kLanes = kVectorBytes / sizeof(float);

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Keeps the compiler from knowing anything about x.
void opaque(Vector& x) { asm volatile("" : "+x"(x)); }

/// FLOPs of one call: enough independent chains of multiply-adds to hide their latency.
double multiply_add(int rounds) {
  constexpr int kChains = 10;
  Vector chain[kChains];
  Vector factor = Vector{} + 0.999f, term = Vector{} + 0.001f;
  for (Vector& x : chain) x = Vector{} + 1.0f;
  opaque(factor);
  opaque(term);
  for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (int j = 0; j < kChains; ++j) chain[j] = chain[j] * factor + term;
  }
  for (Vector& x : chain) opaque(x);
  return 2.0 * kChains * kLanes * rounds;
}

/// Square roots of one call, with a division each.
double root_and_divide(int rounds) {
  alignas(kVectorBytes) float values[512];
  for (float& x : values) x = 2.0f;
  for (int i = 0; i < rounds; ++i) {
    for (float& x : values) x = 1.0f / std::sqrt(x);
    asm volatile("" : "+m"(values));
  }
  return static_cast<double>(std::size(values)) * rounds;
}

/// Where the streams through an array of `count` vectors begin: not at equal places of the caches' sets and
/// of the memory's banks.
constexpr std::size_t stream_length(std::size_t count, std::size_t streams) {
  const std::size_t part = count / streams;
  return part - (part > 4096 ? 56 : 0);
}

/// Bytes of one call: sums an array, from kStreams places at once, since one alone may not keep memory busy.
template <std::size_t kStreams>
double read_all(Vector* from, std::size_t count) {
  constexpr std::size_t kAtOnce = 8 / kStreams;
  const std::size_t part = stream_length(count, kStreams) / kAtOnce * kAtOnce;
  Vector sums[8] = {};
  for (std::size_t i = 0; i < part; i += kAtOnce) {
#pragma GCC unroll 8
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kAtOnce; ++j) sums[stream * kAtOnce + j] += from[stream * part + i + j];
    }
  }
  for (Vector& x : sums) opaque(x);
  return static_cast<double>(kStreams * part * sizeof(Vector));
}

/// Bytes of one call: adds to every element in place, so each is read and written.
double update_all(Vector* at, std::size_t count) {
  constexpr std::size_t kStreams = 4;
  const std::size_t part = stream_length(count, kStreams);
  for (std::size_t i = 0; i < part; ++i) {
#pragma GCC unroll 4
    for (std::size_t stream = 0; stream < kStreams; ++stream) at[stream * part + i] += Vector{} + 1.0f;
  }
  return static_cast<double>(2 * kStreams * part * sizeof(Vector));
}

/// Bytes of one call: the array's first half plus one becomes its second half.
template <std::size_t kStreams>
double copy_all(Vector* at, std::size_t count) {
  const std::size_t half = count / 2, part = stream_length(half, kStreams);
  Vector* const to = at + half;
  for (std::size_t i = 0; i < part; ++i) {
#pragma GCC unroll 4
    for (std::size_t stream = 0; stream < kStreams; ++stream)
      to[stream * part + i] = at[stream * part + i] + (Vector{} + 1.0f);
  }
  return static_cast<double>(2 * kStreams * part * sizeof(Vector));
}

/// Threads that start each measurement together.
class Gate {
 public:
  explicit Gate(int threads) : threads_(threads) {}
  void wait() {
    const int turn = turn_.load();
    if (arrived_.fetch_add(1) + 1 == threads_) {
      arrived_ = 0;
      ++turn_;
    } else {
      while (turn_.load() == turn) __builtin_ia32_pause();
    }
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0}, turn_{0};
};

void bind_to_processor(int index) {
  cpu_set_t all, one;
  if (pthread_getaffinity_np(pthread_self(), sizeof all, &all) != 0) return;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && index-- == 0) CPU_SET(cpu, &one);
  if (CPU_COUNT(&one) == 1) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/// The best rate, summed over the threads, of `turns` measurements. make(thread) prepares a thread's work,
/// which returns how much it did.
template <class Make>
double best_rate(int threads, int turns, const Make& make) {
  Gate gate(threads);
  std::vector<std::vector<double>> rates(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      bind_to_processor(t);
      const auto work = make(t);
      work();
      for (int turn = 0; turn < turns; ++turn) {
        gate.wait();
        const auto start = std::chrono::steady_clock::now();
        const double done = work();
        rates[static_cast<std::size_t>(t)].push_back(done / seconds_since(start));
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  double best = 0;
  for (int turn = 0; turn < turns; ++turn) {
    double sum = 0;
    for (const auto& of_thread : rates) sum += of_thread[static_cast<std::size_t>(turn)];
    best = std::max(best, sum);
  }
  return best;
}

using Pass = double (*)(Vector*, std::size_t);
constexpr Pass kInPlace[] = {&read_all<1>, &read_all<4>, &read_all<8>, &update_all},
               kApart[] = {&copy_all<1>, &copy_all<2>, &copy_all<4>};

/// The fastest of some ways to go through so many bytes a thread, again and again.
template <std::size_t kPasses>
double memory_rate(int threads, std::size_t bytes, const Pass (&passes)[kPasses]) {
  const std::size_t count = bytes / sizeof(Vector);
  const int repeats = static_cast<int>(std::max<std::size_t>(1, (std::size_t{16} << 20) / bytes));
  const int turns = bytes > (std::size_t{64} << 20) ? 6 : 20;
  double best = 0;
  for (const Pass pass : passes) {
    const double rate = best_rate(threads, turns, [=](int) {
      constexpr std::size_t kHugePage = std::size_t{2} << 20;
      const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
      const std::shared_ptr<void> memory(std::aligned_alloc(kHugePage, rounded), std::free);
      madvise(memory.get(), rounded, MADV_HUGEPAGE);
      std::memset(memory.get(), 0, rounded);
      return [=] {
        double done = 0;
        for (int i = 0; i < repeats; ++i) done += pass(static_cast<Vector*>(memory.get()), count);
        return done;
      };
    });
    best = std::max(best, rate);
  }
  return best;
}

struct Rates {
  double bytes[4];  // a second, from L1, L2, L3 and memory
};

template <std::size_t kPasses>
Rates memory_rates(int threads, std::size_t l2, std::size_t l3, const Pass (&passes)[kPasses]) {
  // Half of a core's L2, and of the shared L3 an eighth, so that neighbours may use it as well.
  const std::size_t in_l3 = l3 / 8 / static_cast<std::size_t>(threads) / 4096 * 4096;
  const std::size_t sizes[] = {16 << 10, l2 / 2, std::max(in_l3, l2 * 2), std::size_t{256} << 20};
  Rates rates;
  for (int level = 0; level < 4; ++level) rates.bytes[level] = memory_rate(threads, sizes[level], passes);
  // What a farther level was seen to give, a nearer one gives as well.
  for (int level = 2; level >= 0; --level)
    rates.bytes[level] = std::max(rates.bytes[level], rates.bytes[level + 1]);
  return rates;
}

void print_rates(const char* name, const Rates& rates, const char* after) {
  std::printf(" \"%s\": {\"L1\": %.2f, \"L2\": %.2f, \"L3\": %.2f, \"DRAM\": %.2f}%s\n", name,
              rates.bytes[0] * 1e-9, rates.bytes[1] * 1e-9, rates.bytes[2] * 1e-9, rates.bytes[3] * 1e-9,
              after);
}

/// The size of processor 0's cache of this level, as Linux knows it.
std::size_t cache_bytes(int level, std::size_t otherwise) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), size_file(folder + "size");
    int found = 0;
    std::size_t kibibytes = 0;
    if (level_file >> found && found == level && size_file >> kibibytes && kibibytes > 0)
      return kibibytes << 10;
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1 || threads > 256) {
    std::fprintf(stderr, "usage: bench_limits THREADS\n");
    return 2;
  }
  const std::size_t l2 = cache_bytes(2, std::size_t{512} << 10), l3 = cache_bytes(3, std::size_t{16} << 20);
  const double flops = best_rate(threads, 60, [](int) { return [] { return multiply_add(400000); }; });
  const double roots = best_rate(threads, 60, [](int) { return [] { return root_and_divide(4000); }; });
  std::printf("{\"threads\": %d, \"gflops\": %.2f, \"groots\": %.3f, \"vector_bytes\": %zu,\n", threads,
              flops * 1e-9, roots * 1e-9, kVectorBytes);
  std::printf(" \"bytes\": {\"L2\": %zu, \"L3\": %zu},\n", l2, l3);
  print_rates("memory_gbs", memory_rates(threads, l2, l3, kInPlace), ",");
  print_rates("copy_gbs", memory_rates(threads, l2, l3, kApart), "}");
  return 0;
}
