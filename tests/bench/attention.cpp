// Attention of queries, keys and values alone, forward and backward, under the names of peers/attention.py;
// T8192 is what programmed.cpp is measured against.
#include "core/attention/attend.hpp"
#include "tests/bench/bench.hpp"

namespace tapestry::bench {

namespace {

void attention(benchmark::State& state, const Dims& shape, bool causal) {
  const Tensor query = leaf(shape), key = leaf(shape, 2), value = leaf(shape, 3);
  AttendOptions options;
  if (causal) options.mask = BlockMask::causal(shape[2], shape[2]);
  forward_backward(state, {query, key, value}, [&] { return attend(query, key, value, options); });
}

const Dims kT2048{1, 8, 2048, 64}, kT512{2, 8, 512, 64}, kT8192{1, 8, 8192, 64};

BENCHMARK_CAPTURE(attention, T2048_causal, kT2048, true)->Name("attention_T2048_causal")->UseRealTime();
BENCHMARK_CAPTURE(attention, T2048_full, kT2048, false)->Name("attention_T2048_full")->UseRealTime();
BENCHMARK_CAPTURE(attention, T512_causal, kT512, true)->Name("attention_T512_causal")->UseRealTime();
BENCHMARK_CAPTURE(attention, T512_full, kT512, false)->Name("attention_T512_full")->UseRealTime();
BENCHMARK_CAPTURE(attention, T8192_causal, kT8192, true)->Name("attention_T8192_causal")->UseRealTime();

}  // namespace

}  // namespace tapestry::bench

BENCHMARK_MAIN();
