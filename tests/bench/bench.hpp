// What the benchmarks share: a leaf with random values, and forward + backward with a given cotangent.
#pragma once

#include <benchmark/benchmark.h>

#include <vector>

#include "core/core.hpp"

namespace tapestry::bench {

inline Tensor random(const Dims& shape, std::uint64_t seed = 1) { return random_normal(shape, seed); }
inline Tensor leaf(const Dims& shape, std::uint64_t seed = 1) { return variable(random(shape, seed)); }

/// Ids below n, the same every time.
inline Indices random_ids(const Dims& shape, Size n, std::uint64_t seed = 1) {
  const Stream stream(seed, 3);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(n), i));
  return Indices(ids, shape);
}

/// Times f() forward and backward; the gradients of `leaves` are dropped first, as a training step does.
template <class F>
void forward_backward(benchmark::State& state, const std::vector<Tensor>& leaves, F f) {
  const Tensor dy = random(f().shape(), 9);
  for (auto _ : state) {
    for (const Tensor& x : leaves) x.clear_grad();
    Tape tape;
    tape.backward(f(), dy);
  }
}

}  // namespace tapestry::bench
