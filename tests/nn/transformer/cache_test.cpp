// The KV cache as a value: a copy is a branch of its own. Its rows are reordered in place.
#include <random>
#include <stdexcept>

#include "nn/transformer/transformer.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using testing::equal_bits;

namespace {

LanguageModel& initialised(LanguageModel& model) {
  model.initialise(1, DType::f64);
  model.eval();
  return model;
}

Indices text(const std::vector<std::int64_t>& ids) {
  return Indices(ids, {1, static_cast<Size>(ids.size())});
}

/// Stores its tokens in the cache, and then throws.
struct ThrowsLate final : SelfAttention {
  explicit ThrowsLate(Parent parent) : SelfAttention(std::move(parent)) {}
  Tensor operator()(const Tensor& x, const VisiblePairs&) const override { return x; }
  Tensor next(const Tensor& x, const VisiblePairs&, KeyValueCache& cache) const override {
    cache.append(x, x);
    throw std::runtime_error("late");
  }
};

}  // namespace

TEST_CASE("a copy of a cache branches: what goes into one does not reach the other") {
  LanguageModel model({.vocabulary = 9, .layers = 2, .block = {.width = 8, .heads = 2}});
  initialised(model);
  const Size capacity = GENERATE(1, 3, 8);  // full or not when the copy is made
  StackCache one = model.cache(capacity), assigned = model.cache(2);
  model(text({1, 2, 3}), one);
  StackCache other = one;
  assigned = one;
  CHECK(equal_bits(other.layers[1].keys(), one.layers[1].keys()));
  model(text({4}), one);
  model(text({5}), other);
  model(text({7}), assigned);
  const auto check = [&](StackCache& cache, std::int64_t third) {
    const Tensor whole = model(text({1, 2, 3, third, 6}));
    CHECK(max(abs(model(text({6}), cache) - slice(whole, 1, 4, 5))).item() < 1e-12);
  };
  check(one, 4);
  check(other, 5);
  check(assigned, 7);
}

TEST_CASE("a cache that is moved keeps its memory, and an empty one can be copied") {
  KeyValueCache cache(4);
  KeyValueCache empty = cache;
  const Tensor x = random_normal({1, 2, 3, 5}, 1);
  cache.append(x, x);
  empty.append(x, x);
  CHECK(equal_bits(cache.keys(), empty.keys()));
  const float* const memory = cache.keys().data<float>();
  const KeyValueCache moved = std::move(cache);
  CHECK(moved.keys().data<float>() == memory);
  CHECK(moved.length() == 3);
  const KeyValueCache copied = moved;
  CHECK(copied.keys().data<float>() != memory);
}

TEST_CASE("reorder_rows gives each row its source, whichever rows change places, in the memory of before") {
  constexpr Size kRows = 5;
  std::vector<std::vector<Size>> orders = {{0, 1, 2, 3, 4},
                                           {1, 2, 3, 4, 0},
                                           {1, 0, 3, 2, 4},
                                           {1, 0, 0, 4, 3},
                                           {2, 2, 2, 2, 2},
                                           {4},
                                           {2, 4},
                                           {},
                                           {0, 0, 1, 1, 2, 2, 3, 3, 4, 4}};
  std::mt19937 random(1);
  for (Size i = 0; i < 60; ++i) {
    orders.emplace_back(static_cast<std::size_t>(1 + i % 7));
    for (Size& row : orders.back()) row = static_cast<Size>(random() % kRows);
  }
  for (const std::vector<Size>& rows : orders) {
    KeyValueCache cache(6);  // two positions stay free
    cache.append(random_normal({kRows, 2, 4, 3}, 1), random_normal({kRows, 2, 4, 5}, 2),
                 random_normal({kRows, 4, 1}, 3));
    const float* const memory = cache.keys().data<float>();
    const Tensor before[] = {contiguous(cache.keys()).detach(), contiguous(cache.values()).detach(),
                             contiguous(cache.data()).detach()};
    cache.reorder_rows(rows);
    const auto count = static_cast<Size>(rows.size());
    const Indices ids(rows, {count});
    const Tensor after[] = {cache.keys(), cache.values(), cache.data()};
    CAPTURE(rows);
    for (int part = 0; part < 3; ++part) CHECK(equal_bits(after[part], embedding(before[part], ids)));
    if (count > 0 && count <= kRows) CHECK(cache.keys().data<float>() == memory);
    // The cache goes on, beyond its first room.
    const Tensor more = random_normal({count, 2, 3, 3}, 4);
    cache.append(more, random_normal({count, 2, 3, 5}, 5), random_normal({count, 3, 1}, 6));
    CHECK(equal_bits(slice(cache.keys(), -2, 0, 4), embedding(before[0], ids)));
    CHECK(equal_bits(slice(cache.keys(), -2, 4, 7), more));
  }
  KeyValueCache cache(2);
  const Tensor x = random_normal({2, 1, 1, 3}, 1);
  cache.append(x, x);
  for (const Size wrong : {-1, 2})
    CHECK_THROWS_WITH(cache.reorder_rows({0, wrong}), ContainsSubstring("kept rows must be from 0 to 1"));
}

TEST_CASE("a call that throws leaves the cache as it was") {
  LanguageModel model({.vocabulary = 9, .layers = 2, .block = {.width = 8, .heads = 2}});
  initialised(model);
  StackCache cache = model.cache(2);
  const Mask misfit = Mask::causal(5, 7);
  CHECK_THROWS(model(text({1, 2}), cache, misfit));
  CHECK(cache.length() == 0);
  model(Indices({1, 2, 3, 4, 5, 6}, {2, 3}), cache);  // another batch than in the call that threw
  CHECK_THROWS(model(Indices({7, 8}, {2, 1}), cache, misfit));
  CHECK(cache.length() == 3);
  // The second layer throws after the first has stored its keys.
  const KeyValueCache second = cache.layers[1];
  cache.layers[1] = KeyValueCache(4);
  cache.layers[1].append(zeros({2, 2, 3, 1}, DType::f64), zeros({2, 2, 3, 1}, DType::f64));
  CHECK_THROWS_WITH(model(Indices({7, 8}, {2, 1}), cache), ContainsSubstring("[cache]"));
  cache.layers[1] = second;
  const Tensor whole = model(Indices({1, 2, 3, 7, 4, 5, 6, 8}, {2, 4}));
  CHECK(max(abs(model(Indices({7, 8}, {2, 1}), cache) - slice(whole, 1, 3, 4))).item() < 1e-12);
}

TEST_CASE("a call that throws in the last layer leaves no layer's cache changed") {
  TransformerOptions options{.vocabulary = 9, .layers = GENERATE(1, 2), .block = {.width = 8, .heads = 2}};
  options.block.attention = self_attention<ThrowsLate>();
  LanguageModel model(options);
  StackCache cache = initialised(model).cache(2);
  CHECK_THROWS_WITH(model(text({1, 2}), cache), "late");
  for (const KeyValueCache& layer : cache.layers) CHECK(layer.length() == 0);
}

TEST_CASE("a cache rewinds to a snapshot: its length, its state, and its shape if it was empty") {
  KeyValueCache cache(2);
  KeyValueCache::Snapshot snapshot = cache.snapshot();
  const Tensor x = random_normal({1, 2, 3, 5}, 1), wider = random_normal({2, 2, 1, 7}, 1);
  cache.append(x, x);
  cache.rewind(snapshot);
  cache.append(wider, wider);
  snapshot = cache.snapshot();
  cache.append(wider, wider);
  cache.rewind(snapshot);
  CHECK(equal_bits(cache.values(), wider));

  KeyValueCache constant(1);
  constant.set_state({x}, 3);
  snapshot = constant.snapshot();
  constant.set_state({wider}, 1);
  constant.rewind(snapshot);
  CHECK(constant.length() == 3);
  CHECK(equal_bits(constant.state().at(0), x));
}
