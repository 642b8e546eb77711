// What the timed benchmarks share: forward and backward, and training steps by name.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>

#include "tests/bench/data.hpp"

namespace tapestry::bench {

/// Times f() forward and backward, warmed up; the gradients of `leaves` are dropped first, as a training step
/// does. A loss has the cotangent 1, as in a training step; anything else a random one.
template <class F>
void forward_backward(benchmark::State& state, const std::vector<Tensor>& leaves, F f) {
  const Dims shape = f().shape();
  const Tensor dy = shape.rank() == 0 ? scalar(1.0) : random(shape, 9);
  const auto pass = [&] {
    for (const Tensor& x : leaves) x.clear_grad();
    Tape tape;
    tape.backward(f(), dy);
  };
  pass();
  for (auto _ : state) pass();
}

/// Registers `make()`, which returns a function to call again and again, under a name. It is made and warmed
/// up once, however often the benchmark is repeated.
template <class Make>
void register_step(const char* name, Make make) {
  benchmark::RegisterBenchmark(name, [make, kept = std::function<void()>()](benchmark::State& state) mutable {
    if (!kept) {
      kept = make();
      for (int i = 0; i < 2; ++i) kept();
    }
    for (auto _ : state) kept();
  })->UseRealTime();
}

/// main() for programs whose benchmarks `add` registers.
inline int run_benchmarks(int argc, char** argv, void (*add)()) {
  add();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace tapestry::bench
