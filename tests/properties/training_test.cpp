// What must hold of a whole training run: the same bits on any number of threads, and no memory after the
// first step.
#include <cstring>
#include <vector>

#include "core/core.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "tests/catch.hpp"
#include "tests/threads.hpp"

using namespace tapestry;

namespace {

TranslatorOptions small_translator() {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 300, .embedding = 24, .hidden = 37, .dropout = 0.2};
  options.decoder = {
      .vocabulary = 500, .embedding = 24, .hidden = 37, .attention = 29, .readout = 31, .dropout = 0.2};
  return options;
}

Indices ids(const Dims& shape, std::uint64_t n, std::uint64_t seed) {
  const Stream stream(seed, 1);
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 1 + static_cast<std::int64_t>(stream.below(n - 1, i));
  return Indices(values, shape);
}

void train_step(Translator& model, Adam& adam, std::uint64_t step) {
  const Size batch = 32, from = 11, to = 9;
  std::vector<Size> lengths;
  for (Size i = 0; i < batch; ++i) lengths.push_back(1 + i % from);
  set_random(3, step);
  Tape tape;
  const Tensor logits =
      model(ids({batch, from}, 300, step), ValidLengths(lengths), ids({batch, to}, 500, step + 100));
  tape.backward(cross_entropy(logits, ids({batch, to}, 500, step + 200), {.smoothing = 0.1, .ignore = 0}));
  clip_gradients(model.parameters(), 1.0);
  adam.step();
}

std::vector<double> train(int threads, int steps) {
  const test::Threads scope(threads);
  Translator model(small_translator());
  model.initialise(1);
  Adam adam(model.parameters());
  for (int step = 1; step <= steps; ++step) train_step(model, adam, static_cast<std::uint64_t>(step));
  std::vector<double> all;
  for (const Tensor& weight : model.parameters()) {
    const std::vector<double> values = weight.to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

TEST_CASE("training gives the same bits on 1, 2 and 4 threads", "[threads]") {
  const std::vector<double> one = train(1, 3);
  for (const int threads : {2, 4}) {
    const std::vector<double> more = train(threads, 3);
    REQUIRE(more.size() == one.size());
    CHECK(std::memcmp(more.data(), one.data(), one.size() * sizeof(double)) == 0);
  }
}

TEST_CASE("a training loop of fixed shapes takes no memory from the system after its first steps") {
  Translator model(small_translator());
  model.initialise(1);
  Adam adam(model.parameters());
  for (std::uint64_t step = 1; step <= 3; ++step) train_step(model, adam, step);
  const simd::PoolStats before = simd::pool_stats();
  for (std::uint64_t step = 4; step <= 12; ++step) train_step(model, adam, step);
  const simd::PoolStats after = simd::pool_stats();
  CHECK(after.system_allocs == before.system_allocs);
  CHECK(after.reserved == before.reserved);
  CHECK(after.in_use == before.in_use);
}
