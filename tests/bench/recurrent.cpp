// Additive attention, a GRU, and training steps of recurrent translators: names of peers/recurrent.py.
#include "tests/bench/bench.hpp"
#include "tests/bench/steps.hpp"

namespace tapestry::bench {

namespace {

std::vector<Tensor> joined(std::vector<Tensor> a, const std::vector<Tensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void additive_attention(benchmark::State& state, Size queries) {
  constexpr Size kBatch = 64, kKeys = 20, kWidth = 256;
  Attention attention(additive(kWidth, kWidth, kWidth));
  attention.initialise(1);
  const Tensor query = leaf({kBatch, queries, kWidth}), key = leaf({kBatch, kKeys, kWidth}, 2),
               value = leaf({kBatch, kKeys, kWidth}, 3);
  forward_backward(state, joined(attention.parameters(), {query, key, value}),
                   [&] { return attention(query, key, value).context; });
}
BENCHMARK_CAPTURE(additive_attention, Tq20, 20)->Name("additive_Tq20")->UseRealTime();
BENCHMARK_CAPTURE(additive_attention, Tq1, 1)->Name("additive_Tq1")->UseRealTime();

void gru_B64_T20_256(benchmark::State& state) {
  GRU gru(256, 256);
  gru.initialise(1);
  const Tensor x = leaf({64, 20, 256});
  forward_backward(state, joined(gru.parameters(), {x}), [&] { return gru(x).states; });
}
BENCHMARK(gru_B64_T20_256)->UseRealTime();

void add() {
  for (const char* name : {"seq2seq_tiny_step", "seq2seq_10k_step"})
    register_step(name, [name] { return step_of(name); });
}

}  // namespace

}  // namespace tapestry::bench

int main(int argc, char** argv) { return tapestry::bench::run_benchmarks(argc, argv, tapestry::bench::add); }
