// The matmul beside OpenBLAS in one process, in turns, at one and two threads.
//
// With no arguments it prints one line per case and the geometric means of OpenBLAS's time over ours. With
// any of Google Benchmark's options (--benchmark_format=json, --benchmark_filter=…) it runs as such a
// benchmark instead, both sides registered case by case. OpenBLAS is loaded when it is there; without it only
// our times are shown.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/simd/matmul.hpp"
#include "core/simd/memory.hpp"
#include "core/simd/threads.hpp"

using namespace tapestry;
using namespace tapestry::simd;

namespace {

/// A product of the list: m × n × k, either operand transposed, so many times over different data.
struct Case {
  Size m, n, k;
  bool a_transposed = false, b_transposed = false;
  Size batch = 1;

  std::string name() const {
    std::string name = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    if (a_transposed) name += " aT";
    if (b_transposed) name += " bT";
    if (batch > 1) name += " batch " + std::to_string(batch);
    return name;
  }
  Size work() const { return m * n * k * batch; }
};

/// 64³ … 2048³, batched, thin, transposed: the shapes of the lessons' models among them.
const std::vector<Case> kCases = {
    {64, 64, 64},
    {96, 96, 96},
    {128, 128, 128},
    {256, 256, 256},
    {384, 384, 384},
    {512, 512, 512},
    {1000, 1000, 1000},
    {1024, 1024, 1024},
    {2048, 2048, 2048},
    {64, 64, 64, false, false, 64},
    {64, 16, 64, false, false, 48},
    {64, 64, 16, false, true, 48},
    {128, 128, 64, false, true, 32},
    {1, 192, 64},
    {1, 768, 256, false, true},
    {1, 1024, 1024},
    {8, 1024, 1024},
    {16, 1024, 1024, false, true},
    {32, 768, 256, false, true},
    {64, 192, 64, false, true},
    {64, 768, 256, false, true},
    {768, 64, 768, false, false},
    {256, 256, 256, false, true},
    {256, 256, 256, true, false},
    {768, 128, 768, false, true},
    {768, 256, 64, true, false},
    {768, 256, 1280, true, false},
    {512, 2048, 512, false, true},
    {512, 512, 2048, true, false},
    {1280, 768, 256, false, true},
    {1280, 10000, 256, false, true},
    {1280, 256, 10000},
};

/// The few functions of OpenBLAS that are needed.
struct Blas {
  using Gemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                        float*, int);
  Gemm gemm = nullptr;
  void (*set_threads)(int) = nullptr;

  Blas() {
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    gemm = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
    set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    if (set_threads == nullptr) gemm = nullptr;
  }
};
const Blas& blas() {
  static const Blas instance;
  return instance;
}

using Floats = std::vector<float, PoolAllocator<float>>;

struct Data {
  explicit Data(const Case& x)
      : test(x), a(size(x.batch * x.m * x.k)), b(size(x.batch * x.k * x.n)), c(size(x.batch * x.m * x.n)) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : a) value = uniform(random);
    for (float& value : b) value = uniform(random);
  }
  static std::size_t size(Size count) { return static_cast<std::size_t>(count); }

  void ours() {
    Matmul<float> x;
    x.m = test.m, x.n = test.n, x.k = test.k;
    x.a = a.data(), x.b = b.data(), x.c = c.data();
    x.a_row = test.a_transposed ? 1 : test.k, x.a_col = test.a_transposed ? test.m : 1;
    x.b_row = test.b_transposed ? 1 : test.n, x.b_col = test.b_transposed ? test.k : 1;
    x.c_row = test.n;
    if (test.batch > 1) {
      x.batch = {test.batch};
      x.a_batch = {test.m * test.k}, x.b_batch = {test.k * test.n}, x.c_batch = {test.m * test.n};
    }
    matmul(x);
  }

  void theirs() {
    constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
    const int m = static_cast<int>(test.m), n = static_cast<int>(test.n), k = static_cast<int>(test.k);
    for (Size item = 0; item < test.batch; ++item) {
      blas().gemm(kRowMajor, test.a_transposed ? kTransposed : kPlain,
                  test.b_transposed ? kTransposed : kPlain, m, n, k, 1.0f, a.data() + item * test.m * test.k,
                  test.a_transposed ? m : k, b.data() + item * test.k * test.n, test.b_transposed ? k : n,
                  0.0f, c.data() + item * test.m * test.n, n);
    }
  }

  Case test;
  Floats a, b, c;
};

void set_threads(int threads) {
  if (blas().gemm != nullptr) blas().set_threads(threads);
  set_thread_count(threads);
}

/// Seconds per call, over as many calls as fill about a millisecond.
template <class F>
double seconds(const F& call, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// One line per case; both sides in turns, the turns short, so that noise meets both.
void compare(int threads) {
  set_threads(threads);
  std::printf("%d thread%s: GFLOP/s by the median\n%-28s %9s %9s %7s\n", threads, threads > 1 ? "s" : "",
              "m x n x k", "ours", "OpenBLAS", "ratio");
  double log_sum = 0, least = std::numeric_limits<double>::infinity();
  for (const Case& x : kCases) {
    Data data(x);
    const auto ours = [&] { data.ours(); };
    const auto theirs = [&] { data.theirs(); };
    const bool both = blas().gemm != nullptr;
    ours();
    if (both) theirs();
    const int calls = static_cast<int>(std::clamp<Size>(Size{30000000} / x.work(), 1, 2000));
    const int turns = x.work() > Size{500000000} ? 7 : 41;
    std::vector<double> our_times, their_times;
    for (int turn = 0; turn < turns; ++turn) {
      // A block of one side warms its own threads up before it is timed; the other's have gone to sleep or
      // spin.
      ours();
      our_times.push_back(seconds(ours, calls));
      if (!both) continue;
      theirs();
      their_times.push_back(seconds(theirs, calls));
    }
    const double flops = 2e-9 * static_cast<double>(x.work()), our_time = median(our_times);
    if (both) {
      const double their_time = median(their_times), ratio = their_time / our_time;
      log_sum += std::log(ratio);
      least = std::min(least, ratio);
      std::printf("%-28s %9.1f %9.1f %7.2f\n", x.name().c_str(), flops / our_time, flops / their_time, ratio);
    } else {
      std::printf("%-28s %9.1f\n", x.name().c_str(), flops / our_time);
    }
    std::fflush(stdout);
  }
  if (blas().gemm != nullptr) {
    std::printf("geometric mean %.3f, least %.2f\n\n", std::exp(log_sum / static_cast<double>(kCases.size())),
                least);
  } else {
    std::printf("OpenBLAS was not found: apt-get install libopenblas0-openmp\n\n");
  }
}

void register_all() {
  for (int threads : {1, 2}) {
    for (const Case& x : kCases) {
      const auto add = [&](const char* side, void (Data::*call)()) {
        const std::string name = std::string(side) + "/" + x.name() + "/threads:" + std::to_string(threads);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          set_threads(threads);
          Data data(x);
          for (auto _ : state) (data.*call)();
          state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(x.work()),
                                                         benchmark::Counter::kIsIterationInvariantRate);
        })->UseRealTime();
      };
      add("ours", &Data::ours);
      if (blas().gemm != nullptr) add("openblas", &Data::theirs);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  // OpenMP's threads spin for milliseconds after their work and would take our worker's core.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  if (argc > 1) {
    register_all();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  }
  for (int threads : {1, 2}) compare(threads);
  return 0;
}
