// Attention, recurrent layers and a whole training step, under the names of peers.py.
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"
#include "optim/adam.hpp"
#include "tests/bench/bench.hpp"

namespace tapestry::bench {

namespace {

std::vector<Tensor> joined(std::vector<Tensor> a, const std::vector<Tensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void additive_attention(benchmark::State& s, Size queries) {
  constexpr Size kBatch = 64, kKeys = 20, kWidth = 256;
  Attention attention(additive(kWidth, kWidth, kWidth));
  attention.initialise(1);
  const Tensor query = leaf({kBatch, queries, kWidth}), key = leaf({kBatch, kKeys, kWidth}, 2),
               value = leaf({kBatch, kKeys, kWidth}, 3);
  forward_backward(s, joined(attention.parameters(), {query, key, value}),
                   [&] { return attention(query, key, value).context; });
}
void additive_Tq20(benchmark::State& s) { additive_attention(s, 20); }
void additive_Tq1(benchmark::State& s) { additive_attention(s, 1); }

void gru_B64_T20_256(benchmark::State& s) {
  GRU gru(256, 256);
  gru.initialise(1);
  const Tensor x = leaf({64, 20, 256});
  forward_backward(s, joined(gru.parameters(), {x}), [&] { return gru(x).states; });
}

/// The small translator that peers.py describes.
struct TinyTranslator : Module {
  static constexpr Size kWords = 40, kEmbedding = 32, kHidden = 64;
  Embedding source{{*this, "source"}, kWords, kEmbedding};
  Embedding target{{*this, "target"}, kWords, kEmbedding};
  GRU encoder{{*this, "encoder"}, kEmbedding, kHidden};
  GRUCell cell{{*this, "cell"}, kEmbedding + kHidden, kHidden};
  Attention attention{{*this, "attention"}, additive(kHidden, kHidden, kHidden)};
  Linear output{{*this, "output"}, 2 * kHidden, kWords};

  Tensor operator()(const Indices& from, const Indices& previous) const {
    const RecurrentOutput read = encoder(source(from));
    const AttentionMemory memory = attention.prepare(read.states, read.states);
    const Tensor words = target(previous);
    RecurrentState state = read.final.back();
    std::vector<Tensor> outputs;
    for (Size t = 0; t < words.size(1); ++t) {
      const Tensor context = squeeze(attention(unsqueeze(state.hidden, 1), memory).context, 1);
      state = cell(concat({select(words, 1, t), context}, 1), state);
      outputs.push_back(concat({state.hidden, context}, 1));
    }
    return output(stack(outputs, 1));
  }
};

void seq2seq_tiny_step(benchmark::State& s) {
  TinyTranslator model;
  model.initialise(1);
  Adam adam(model.parameters());
  const Dims shape{64, 12};
  const Indices from = random_ids(shape, 40, 1), previous = random_ids(shape, 40, 2),
                targets = random_ids(shape, 40, 3);
  for (auto _ : s) {
    Tape tape;
    tape.backward(cross_entropy(model(from, previous), targets));
    adam.step();
  }
}

BENCHMARK(additive_Tq20)->UseRealTime();
BENCHMARK(additive_Tq1)->UseRealTime();
BENCHMARK(gru_B64_T20_256)->UseRealTime();
BENCHMARK(seq2seq_tiny_step)->UseRealTime();

}  // namespace

}  // namespace tapestry::bench

BENCHMARK_MAIN();
