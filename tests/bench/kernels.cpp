// Element-wise ops, fused rows, and Adam, under the names of peers/kernels.py.
#include "optim/adam.hpp"
#include "tests/bench/bench.hpp"

namespace tapestry::bench {

namespace {

constexpr Size kMillion = 1 << 20;

template <class F>
void forward(benchmark::State& state, F f) {
  const Tensor x = random({kMillion});
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
}

void tanh_1M(benchmark::State& s) {
  forward(s, [](const Tensor& x) { return tanh(x); });
}
void exp_1M(benchmark::State& s) {
  forward(s, [](const Tensor& x) { return exp(x); });
}
void sigmoid_1M(benchmark::State& s) {
  forward(s, [](const Tensor& x) { return sigmoid(x); });
}
void gelu_tanh_1M(benchmark::State& s) {
  forward(s, [](const Tensor& x) { return gelu(x, Gelu::tanh); });
}

void softmax_4096x512(benchmark::State& s) {
  const Tensor x = leaf({4096, 512});
  forward_backward(s, {x}, [&] { return softmax(x, -1); });
}
void layer_norm_4096x256(benchmark::State& s) {
  const Tensor x = leaf({4096, 256}), weight = leaf({256}, 2), bias = leaf({256}, 3);
  forward_backward(s, {x, weight, bias}, [&] { return layer_norm(x, weight, bias); });
}
void cross_entropy_of(benchmark::State& s, Size classes) {
  const Tensor x = leaf({4096, classes});
  const Indices targets = random_ids({4096}, classes);
  forward_backward(s, {x}, [&] { return cross_entropy(x, targets); });
}
void cross_entropy_4096x10000(benchmark::State& s) { cross_entropy_of(s, 10000); }
void cross_entropy_4096x64(benchmark::State& s) { cross_entropy_of(s, 64); }

void adam(benchmark::State& s, const std::vector<std::pair<int, Dims>>& shapes) {
  std::vector<Tensor> weights, gradients;
  for (const auto& [count, shape] : shapes)
    for (int i = 0; i < count; ++i) {
      weights.push_back(variable(random(shape), "w" + std::to_string(weights.size())));
      gradients.push_back(random(shape, 2));
    }
  Adam adam(weights);
  const auto step = [&] {
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i].impl().leaf->grad = gradients[i];
    adam.step();
  };
  step();  // makes the moments
  for (auto _ : s) step();
}
void adam_26M(benchmark::State& s) {
  adam(s, {{30, {512, 512}}, {8, {2048, 512}}, {2, {10000, 512}}, {20, {512}}});
}
void adam_small(benchmark::State& s) { adam(s, {{16, {128, 128}}, {8, {512, 128}}, {26, {128}}}); }

BENCHMARK(tanh_1M)->UseRealTime();
BENCHMARK(exp_1M)->UseRealTime();
BENCHMARK(sigmoid_1M)->UseRealTime();
BENCHMARK(gelu_tanh_1M)->UseRealTime();
BENCHMARK(softmax_4096x512)->UseRealTime();
BENCHMARK(layer_norm_4096x256)->UseRealTime();
BENCHMARK(cross_entropy_4096x10000)->UseRealTime();
BENCHMARK(cross_entropy_4096x64)->UseRealTime();
BENCHMARK(adam_26M)->UseRealTime();
BENCHMARK(adam_small)->Name("adam_0.79M")->UseRealTime();

/// What an op costs when there is next to nothing to compute: four numbers, a hundred ops recorded and swept.
void tiny_op(benchmark::State& s) {
  const Tensor x = leaf({4});
  constexpr int kOps = 100;
  for (auto _ : s) {
    x.clear_grad();
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < kOps; ++i) y = y * x;
    tape.backward(sum(y));
  }
}
BENCHMARK(tiny_op)->UseRealTime();

}  // namespace

}  // namespace tapestry::bench

BENCHMARK_MAIN();
