// What grows with what: forward and backward against length, width and vocabulary, for measure/scaling.py.
#include "core/attention/attend.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"
#include "tests/bench/bench.hpp"

namespace tapestry::bench {

namespace {

void attention(benchmark::State& state, const BlockMask& mask) {
  const Dims shape{1, 2, state.range(0), 64};
  const Tensor query = leaf(shape), key = leaf(shape, 2), value = leaf(shape, 3);
  forward_backward(state, {query, key, value}, [&] { return attend(query, key, value, {.mask = mask}); });
}

void scaling_causal(benchmark::State& state) {
  attention(state, BlockMask::causal(state.range(0), state.range(0)));
}
BENCHMARK(scaling_causal)->RangeMultiplier(4)->Range(64, 16384)->UseRealTime();

void scaling_window(benchmark::State& state) {
  attention(state, BlockMask::window(state.range(0), state.range(0), 255, 0));
}
BENCHMARK(scaling_window)->RangeMultiplier(2)->Range(1024, 16384)->UseRealTime();

void scaling_gru(benchmark::State& state) {
  GRU gru(128, 128);
  gru.initialise(1);
  const Tensor x = leaf({16, state.range(0), 128});
  std::vector<Tensor> leaves = gru.parameters();
  leaves.push_back(x);
  forward_backward(state, leaves, [&] { return gru(x).states; });
}
BENCHMARK(scaling_gru)->RangeMultiplier(4)->Range(16, 1024)->UseRealTime();

void scaling_linear(benchmark::State& state) {
  Linear layer(state.range(0), state.range(0));
  layer.initialise(1);
  const Tensor x = leaf({256, state.range(0)});
  std::vector<Tensor> leaves = layer.parameters();
  leaves.push_back(x);
  forward_backward(state, leaves, [&] { return layer(x); });
}
BENCHMARK(scaling_linear)->RangeMultiplier(2)->Range(64, 2048)->UseRealTime();

void scaling_cross_entropy(benchmark::State& state) {
  const Tensor logits = leaf({256, state.range(0)});
  const Indices targets = random_ids({256}, state.range(0));
  forward_backward(state, {logits}, [&] { return cross_entropy(logits, targets); });
}
BENCHMARK(scaling_cross_entropy)->RangeMultiplier(4)->Range(64, 65536)->UseRealTime();

}  // namespace

}  // namespace tapestry::bench

BENCHMARK_MAIN();
