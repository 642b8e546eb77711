// The matmul beside other libraries in one process, in turns, over the shapes that models need.
//
//     bench_matmul [THREADS [SECONDS]]           a line a shape, and geometric means; 1 and 2 threads if none
//     bench_matmul --json THREADS [SECONDS [SHAPE…]]   the median milliseconds as JSON
//
// SECONDS scales the number of timings; 0.6 is usual. A SHAPE is written as the program names it, "64x192x64
// aT batch 8"; without any the program's own list is measured. The libraries (see libraries.hpp) are loaded
// where they are installed; without them only our times are shown.
#include "core/simd/matmul/matmul.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"
#include "tests/bench/libraries.hpp"

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

  void theirs(const bench::Library& library) {
    for (Size item = 0; item < test.batch; ++item) {
      library({test.m, test.n, test.k, test.a_transposed, test.b_transposed,
               a.data() + item * test.m * test.k, b.data() + item * test.k * test.n,
               c.data() + item * test.m * test.n});
    }
  }

  Case test;
  Floats a, b, c;
};

/// Seconds per call.
double seconds(const std::function<void()>& call, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Median seconds of each side, ours first, under the sides' names. In turns, the turns short, so that noise
/// meets all.
using Times = std::vector<std::pair<std::string, double>>;

Times measure(const Case& x, double budget) {
  Data data(x);
  std::vector<std::pair<std::string, std::function<void()>>> sides{{"ours", [&] { data.ours(); }}};
  for (const bench::Library& library : bench::libraries())
    sides.emplace_back(library.name, [&] { data.theirs(library); });
  for (const auto& [name, call] : sides) call();
  const int calls = static_cast<int>(std::clamp<Size>(Size{30000000} / x.work(), 1, 2000));
  const int usual = x.work() > Size{500000000} ? 7 : 41;
  const int turns = std::max(3, static_cast<int>(usual * budget / 0.6));
  std::vector<std::vector<double>> times(sides.size());
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      // Each side wakes its own threads before it is timed; the others' have gone to sleep or spin.
      sides[i].second();
      times[i].push_back(seconds(sides[i].second, calls));
    }
  }
  Times result;
  for (std::size_t i = 0; i < sides.size(); ++i) result.emplace_back(sides[i].first, median(times[i]));
  return result;
}

void set_threads(int threads) {
  for (const bench::Library& library : bench::libraries()) library.use_threads(threads);
  set_thread_count(threads);
}

void print_table(int threads, double budget) {
  set_threads(threads);
  std::printf("%d thread%s: GFLOP/s by the median\n%-28s %9s", threads, threads > 1 ? "s" : "", "m x n x k",
              "ours");
  for (const bench::Library& library : bench::libraries()) std::printf(" %9s", library.name);
  std::vector<double> log_sums(bench::libraries().size() + 1);
  for (const Case& x : kCases) {
    const Times times = measure(x, budget);
    std::printf("\n%-28s", x.name().c_str());
    for (std::size_t i = 0; i < times.size(); ++i) {
      std::printf(" %9.1f", 2e-9 * static_cast<double>(x.work()) / times[i].second);
      log_sums[i] += std::log(times[i].second / times[0].second);
    }
    std::fflush(stdout);
  }
  std::printf("\n%-28s", "their time / ours, mean");
  for (const double sum : log_sums) std::printf(" %9.2f", std::exp(sum / static_cast<double>(kCases.size())));
  std::printf("\n\n");
}

/// The case of a name; its k is 0 if that is no name.
Case case_of(const std::string& name) {
  Case x{};
  int read = 0;
  long long m = 0, n = 0, k = 0, batch = 1;
  if (std::sscanf(name.c_str(), "%lldx%lldx%lld%n", &m, &n, &k, &read) < 3) return x;
  x.m = m, x.n = n, x.k = k;
  std::string rest = name.substr(static_cast<std::size_t>(read));
  const auto take = [&](const char* word) {
    if (rest.rfind(word, 0) != 0) return false;
    rest.erase(0, std::strlen(word));
    return true;
  };
  x.a_transposed = take(" aT");
  x.b_transposed = take(" bT");
  if (std::sscanf(rest.c_str(), " batch %lld", &batch) == 1) x.batch = batch;
  return x.name() == name && std::min({x.m, x.n, x.k, x.batch}) > 0 ? x : Case{};
}

void print_json(int threads, double budget, const std::vector<Case>& cases) {
  set_threads(threads);
  const char* before = "[";
  for (const Case& x : cases) {
    std::printf("%s{\"name\": \"%s\", \"m\": %lld, \"n\": %lld, \"k\": %lld, \"batch\": %lld,\n", before,
                x.name().c_str(), static_cast<long long>(x.m), static_cast<long long>(x.n),
                static_cast<long long>(x.k), static_cast<long long>(x.batch));
    std::printf("  \"a_transposed\": %s, \"b_transposed\": %s, \"ms\": {", x.a_transposed ? "true" : "false",
                x.b_transposed ? "true" : "false");
    const char* comma = "";
    for (const auto& [side, time] : measure(x, budget)) {
      std::printf("%s\"%s\": %.6g", comma, side.c_str(), 1e3 * time);
      comma = ", ";
    }
    std::printf("}}");
    before = ",\n ";
  }
  std::printf("]\n");
}

}  // namespace

int main(int argc, char** argv) {
  // OpenMP's threads spin for milliseconds after their work and would take our worker's core.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  const int first = json ? 2 : 1;
  const int threads = argc > first ? std::atoi(argv[first]) : 0;
  const double budget = argc > first + 1 ? std::atof(argv[first + 1]) : 0.6;
  std::vector<Case> cases;
  for (int i = first + 2; i < argc; ++i) cases.push_back(case_of(argv[i]));
  const bool named = std::all_of(cases.begin(), cases.end(), [](const Case& x) { return x.work() > 0; });
  if (!named || (!json && !cases.empty()) || (argc > first && (threads < 1 || threads > kMaxThreads)) ||
      !(budget > 0) || (json && argc == first)) {
    std::fprintf(stderr, "usage: bench_matmul [THREADS [SECONDS]] | --json THREADS [SECONDS [SHAPE...]]\n");
    return 2;
  }
  if (json) {
    print_json(threads, budget, cases.empty() ? kCases : cases);
  } else {
    for (const int count : threads > 0 ? std::vector<int>{threads} : std::vector<int>{1, 2})
      print_table(count, budget);
  }
  return 0;
}
