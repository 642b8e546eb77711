// Products with block-quantised weights: one row of x, as in generation, which reads the weights from memory
// once, and 512 rows, as for a prompt. The same products with f32 weights are measured for comparison. GB/s
// counts the bytes of the weights, GFLOP/s two operations for each weight and row.
//
//     TAPESTRY_THREADS=1 bench_quantised --benchmark_repetitions=5 --benchmark_report_aggregates_only
#include <string>

#include "core/quantised/matrix.hpp"
#include "tests/bench/bench.hpp"

namespace tapestry::bench {

namespace {

struct Sizes {
  Size rows, out, in;
};

/// Measures `product` and reports the rates of weights with `bytes` bytes.
void measure(const std::string& name, const Sizes& sizes, Size bytes,
             const std::function<Tensor()>& product) {
  const std::string full = name + "/" + std::to_string(sizes.rows) + "x" + std::to_string(sizes.in) + "x" +
                           std::to_string(sizes.out);
  benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(product());
    const auto rate = [](double amount) {
      return benchmark::Counter(amount * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
    };
    state.counters["GB/s"] = rate(static_cast<double>(bytes));
    state.counters["GFLOP/s"] = rate(2.0 * static_cast<double>(sizes.rows * sizes.out * sizes.in));
  })->UseRealTime();
}

void add() {
  for (const Sizes sizes : {Sizes{1, 1536, 576}, {1, 49152, 576}, {512, 1536, 576}}) {
    const Tensor x = random({sizes.rows, sizes.in}), w = random({sizes.out, sizes.in}, 2);
    for (const BlockType type : {BlockType::q8_0, BlockType::q4_0, BlockType::q4_1}) {
      const QuantisedMatrix matrix = quantise(w, type);
      measure(std::string(to_string(type)), sizes, static_cast<Size>(matrix.bytes().size()),
              [=] { return quantised_matmul(x, matrix); });
    }
    measure("F32", sizes, w.count() * 4, [=] { return linear(x, w); });
  }
}

}  // namespace

}  // namespace tapestry::bench

int main(int argc, char** argv) { return tapestry::bench::run_benchmarks(argc, argv, tapestry::bench::add); }
