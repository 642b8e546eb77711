// Linear attention beside attend(), forward alone and with backward, for measure/lengths.py.
#include "tests/bench/lengths.hpp"

#include "tests/bench/bench.hpp"

namespace tapestry::bench {

namespace {

void forward(benchmark::State& state, const char* way) {
  const LengthCase attention(way, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(attention());
}

void both(benchmark::State& state, const char* way) {
  const LengthCase attention(way, state.range(0));
  forward_backward(state, attention.leaves, attention);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const char* way : kLengthWays)
    for (const auto& [pass, run] : {std::pair{"forward", &forward}, std::pair{"both", &both}})
      benchmark::RegisterBenchmark(fmt::format("length_{}_{}", way, pass).c_str(), run, way)
          ->RangeMultiplier(2)
          ->Range(64, 16384)
          ->UseRealTime();
  return true;
}();

}  // namespace

}  // namespace tapestry::bench

BENCHMARK_MAIN();
