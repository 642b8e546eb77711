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

TEST_CASE("append refuses parts that do not fit each other or the parts before, and changes nothing") {
  KeyValueCache cache(2);
  const Tensor x = random_normal({1, 2, 3, 5}, 1), shorter = random_normal({1, 2, 2, 5}, 2),
               data = random_normal({1, 3, 1}, 3);
  for (int call = 0; call < 2; ++call) {  // into an empty cache, and after other positions
    CHECK_THROWS_WITH(cache.append(x, shorter), ContainsSubstring("one value for each key"));
    CHECK_THROWS_WITH(cache.append(shorter, x), ContainsSubstring("one value for each key"));
    CHECK_THROWS_WITH(cache.append(zeros({3})), ContainsSubstring("must be (…, time, width)"));
    CHECK_THROWS_WITH(
        cache.append(shorter, shorter, data),
        ContainsSubstring("data must be (batch, time, n) with one row for each key, got (1,3,1)"));
    CHECK(cache.length() == 3 * call);
    cache.append(x, x, data);
  }
  CHECK_THROWS_WITH(cache.append(x, random_normal({1, 2, 3, 4}, 1), data),
                    ContainsSubstring("must stay the same"));
  CHECK_THROWS_WITH(cache.append(x, x), ContainsSubstring("must append the same parts"));
  CHECK(equal_bits(cache.keys(), concat({x, x}, 2)));
  CHECK(equal_bits(cache.values(), concat({x, x}, 2)));
}

TEST_CASE(
    "a cache that keeps no positions is empty: its next tokens may have other parts and another shape") {
  KeyValueCache cache(2);
  const Tensor x = random_normal({1, 2, 3, 5}, 1), other = random_normal({2, 1, 7}, 2);
  cache.append(x, x);
  cache.keep_positions(0);
  CHECK_FALSE(cache.values().defined());
  cache.append(other);
  CHECK(equal_bits(cache.keys(), other));
  CHECK_FALSE(cache.values().defined());
}

TEST_CASE("a cache does not rewind to a snapshot whose positions have changed") {
  KeyValueCache cache(2);
  const Tensor x = random_normal({2, 1, 4, 3}, 1), more = random_normal({2, 1, 2, 3}, 2);
  cache.append(x, x);
  const KeyValueCache::Snapshot early = cache.snapshot();
  cache.append(more, more);
  const KeyValueCache::Snapshot late = cache.snapshot();
  const auto refused = ContainsSubstring("all positions of a snapshot must be unchanged to rewind to it");
  SECTION("rows were reordered") {
    cache.reorder_rows({0});
    CHECK_THROWS_WITH(cache.rewind(early), refused);
  }
  SECTION("positions were removed, and others were appended") {
    cache.keep_positions(5);
    cache.append(more, more);
    CHECK_THROWS_WITH(cache.rewind(late), refused);
    CHECK(cache.length() == 7);
    cache.rewind(early);
    CHECK(equal_bits(cache.keys(), x));
  }
  SECTION("a position was moved") {
    cache.keep_positions(3, {5});
    CHECK_THROWS_WITH(cache.rewind(early), ContainsSubstring("got 3 unchanged of 4"));
  }
  SECTION("the cache was rewound to before it, as often as wanted") {
    for (int time = 0; time < 3; ++time) {
      cache.rewind(early);
      CHECK_THROWS_WITH(cache.rewind(late), refused);
      cache.append(more, more);
      CHECK_THROWS_WITH(cache.rewind(late), refused);
    }
    cache.rewind(early);
    CHECK(equal_bits(cache.keys(), x));
  }
  SECTION("another cache is shorter") {
    KeyValueCache other(2);
    other.append(more, more);
    CHECK_THROWS_WITH(other.rewind(early), refused);
  }
  SECTION("a copy rewinds as its original does") {
    KeyValueCache copy = cache;
    copy.rewind(early);
    copy.append(more, more);
    KeyValueCache again = copy;
    CHECK_THROWS_WITH(again.rewind(late), refused);
    cache.rewind(late);
    CHECK(cache.length() == 6);
  }
}
