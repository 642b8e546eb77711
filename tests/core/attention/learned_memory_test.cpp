// Memory and sums of learned scores whose tables depend on batch row and head: backward keeps the sums that a task
// touches, not a copy of the whole table for each task.
#include <atomic>
#include <new>

#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"
#include "tests/catch.hpp"
#include "tests/core/attention/attention_checks.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using namespace tapestry::checks;

namespace {

/// Gradients of two tables, one for each pair of each head and one that all heads share, and of the query.
std::vector<Tensor> table_gradients(bool tiles, Size batch, Size heads, Size queries, Size keys,
                                    DType dtype) {
  const Tensor q = random_normal({batch, heads, queries, 4}, 1, dtype),
               k = random_normal({batch, heads, keys, 4}, 2, dtype),
               v = random_normal({batch, heads, keys, 3}, 3, dtype);
  Tape tape;
  const Tensor table = variable(random_normal({batch, heads, queries, keys}, 4, dtype)),
               shared = variable(random_normal({keys, queries}, 5, dtype)), query = variable(q);
  const auto score = [](auto s, auto at, auto t, auto w) {
    return s + t(at.b, at.h, at.i, at.j) * w(at.j, at.i);
  };
  const AttendOptions options{.score_mod = score_mod(score, learned(table), learned(shared))};
  const Tensor y = tiles ? attend(query, k, v, options) : attend_by_ops(query, k, v, options);
  return tape.gradients(sum(y * random_normal(y.shape(), 6, dtype)), {table, shared, query});
}

/// A score that runs out of memory in the kernel.
struct NoMemory : ScoreMod::Impl {
  template <class T>
  struct Tiles : simd::TileScore<T> {
    void forward(const simd::ScoreTile<T>&) const override { throw std::bad_alloc(); }
    void forward(const simd::ScoreTile<T>&, T*) const override {}
    void backward(const simd::ScoreTile<T>&, const T*, simd::LearnedSums&) const override {}
  };
  std::unique_ptr<simd::TileScore<float>> on_tiles(float, const std::vector<Tensor>&) const override {
    return std::make_unique<Tiles<float>>();
  }
  std::unique_ptr<simd::TileScore<double>> on_tiles(double, const std::vector<Tensor>&) const override {
    return std::make_unique<Tiles<double>>();
  }
  Tensor by_ops(const Tensor& scores, const std::vector<Tensor>&, const Mask&) const override {
    return scores;
  }
};

}  // namespace

TEST_CASE(
    "backward of a table for each pair of each head needs memory of a few tables, not of one per head") {
  const Size batch = 6, heads = 8, n = 64;
  const Tensor x = random_normal({batch, heads, n, 8}, 1);
  Tape tape;
  const Tensor table = variable(random_normal({batch, heads, n, n}, 2));
  std::atomic<Size> peak{0};
  const auto score = [&peak](auto s, auto at, auto t) {
    const Size now = simd::pool_stats().in_use;
    for (Size before = peak; before < now && !peak.compare_exchange_weak(before, now);) {
    }
    return s + t(at.b, at.h, at.i, at.j);
  };
  const Tensor loss = sum(attend(x, x, x, {.score_mod = score_mod(score, learned(table))}));
  const Size before = simd::pool_stats().in_use, bytes = table.count() * static_cast<Size>(sizeof(float));
  peak = 0;
  tape.backward(loss);
  CHECK(peak - before < 8 * bytes);  // f64 sums of all numbers are 2, the gradient is 1
}

TEST_CASE("learned tables of many heads: as by ops, and equal bit for bit for any number of threads") {
  const int threads = simd::thread_count();
  // 64 tasks whose sums do not fit at once; pages of sums begin in the middle of a row of the table.
  const auto ops = table_gradients(false, 8, 8, 19, 37, DType::f64);
  std::vector<std::vector<float>> first;
  for (const int count : {1, 2, 5}) {
    simd::set_thread_count(count);
    const auto tiles = table_gradients(true, 8, 8, 19, 37, DType::f64);
    const auto rounded = table_gradients(true, 8, 8, 19, 37, DType::f32);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      INFO("gradient " << i << " with " << count << " threads");
      const auto expected = ops[i].to_vector(), got = tiles[i].to_vector();
      double largest = 0;
      for (std::size_t j = 0; j < got.size(); ++j)
        largest = std::max(largest, std::abs(got[j] - expected[j]));
      CHECK(largest < 1e-12);
      const float* data = rounded[i].data<float>();
      std::vector<float> bits(data, data + rounded[i].count());
      if (count == 1)
        first.push_back(bits);
      else
        CHECK(bits == first[i]);
    }
  }
  simd::set_thread_count(threads);
}

TEST_CASE("out of memory in attention names the op, the shapes, the bytes and the caller's line") {
  const Tensor x = ones({2, 3, 4, 5}), w = ones({100});
  const ScoreMod score(std::make_shared<NoMemory>(), {w}, {});
  const auto run = [&] { return attend(x, x, x, {.score_mod = score}); };
  const std::string message = test::message_of(run);
  for (const char* part :
       {"[attend] out of memory for query (2,3,4,5)", "800 bytes", "learned_memory_test.cpp:"})
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring(part));
}
