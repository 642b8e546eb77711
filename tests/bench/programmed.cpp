// Attention with masks and scores of one's own, under the names of peers/programmed.py and peers/flex.py: in
// tiles, by ops, and with a score that is no product.
#include "tests/bench/programmed.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "nn/attention/attention.hpp"
#include "tests/bench/bench.hpp"

namespace tapestry::bench {

namespace {

constexpr Size kTime = 2048, kWidth = 64, kPairTime = 512;

/// Forward and backward of read(query, key, value), with the gradients of `learned` too.
template <class Read>
void pass(benchmark::State& state, Size time, std::vector<Tensor> learned, const Read& read) {
  const Dims shape{1, kProgrammedHeads, time, kWidth};
  const Tensor query = leaf(shape), key = leaf(shape, 2), value = leaf(shape, 3);
  learned.insert(learned.end(), {query, key, value});
  forward_backward(state, learned, [&] { return read(query, key, value); });
}

void in_tiles(benchmark::State& state, const std::string& name, Size time) {
  const AttendOptions options = programmed(name, time);
  pass(state, time, options.score_mod.learned(),
       [&](const Tensor& q, const Tensor& k, const Tensor& v) { return attend(q, k, v, options); });
}

/// Without a tape.
void forward(benchmark::State& state, const std::string& name) {
  const Dims shape{1, kProgrammedHeads, kTime, kWidth};
  const Tensor query = random(shape), key = random(shape, 2), value = random(shape, 3);
  const AttendOptions options = programmed(name, kTime);
  for (auto _ : state) benchmark::DoNotOptimize(attend(query, key, value, options));
}

void soft_cap_by_ops(benchmark::State& state) {
  const Attention attention{[](const Tensor& query, const Tensor& key) {
    return 20.0 * tanh(matmul(query, transpose(key)) / (20.0 * std::sqrt(static_cast<double>(kWidth))));
  }};
  pass(state, kTime, {},
       [&](const Tensor& q, const Tensor& k, const Tensor& v) { return attention(q, k, v).context; });
}

void additive_by_ops(benchmark::State& state) {
  const Tensor weight = leaf({kWidth}, 4);
  const Attention attention{[&](const Tensor& query, const Tensor& key) {
    return sum(tanh(unsqueeze(query, -2) + unsqueeze(key, -3)) * weight, {-1});
  }};
  pass(state, kPairTime, {weight},
       [&](const Tensor& q, const Tensor& k, const Tensor& v) { return attention(q, k, v).context; });
}

void additive_pairs(benchmark::State& state) {
  const Tensor weight = leaf({kWidth}, 4);
  const PairScore score = pair_score([](auto q, auto k, auto w) { return w * tanh(q + k); }, learned(weight));
  pass(state, kPairTime, {weight}, [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return attend(q, k, v, {.pair_score = score});
  });
}

template <class Run>
void add_one(const std::string& name, const Run& run) {
  benchmark::RegisterBenchmark(("programmed_" + name).c_str(), run)->UseRealTime();
}

void add() {
  for (const std::string name : {"identity", "causal", "window", "documents", "alibi", "alibi_causal",
                                 "alibi_learned", "soft_cap", "bias", "bias_learned"})
    add_one(name, [name](benchmark::State& state) { in_tiles(state, name, kTime); });
  add_one("window_T8192", [](benchmark::State& state) { in_tiles(state, "window", 8192); });
  for (const std::string name : {"alibi_causal", "soft_cap", "window"})
    add_one(name + "_forward", [name](benchmark::State& state) { forward(state, name); });
  add_one("soft_cap_by_ops", soft_cap_by_ops);
  add_one("additive_by_ops", additive_by_ops);
  add_one("additive_pairs", additive_pairs);
}

}  // namespace

}  // namespace tapestry::bench

int main(int argc, char** argv) { return tapestry::bench::run_benchmarks(argc, argv, tapestry::bench::add); }
