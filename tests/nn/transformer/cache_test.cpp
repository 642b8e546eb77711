// The KV cache as a value: a copy is a branch of its own.
#include "nn/transformer/transformer.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using testing::equal_bits;

namespace {

LanguageModel& ready(LanguageModel& model) {
  model.initialise(1, DType::f64);
  model.eval();
  return model;
}

Indices text(const std::vector<std::int64_t>& ids) {
  return Indices(ids, {1, static_cast<Size>(ids.size())});
}

}  // namespace

TEST_CASE("a copy of a cache branches: what goes into one does not reach the other") {
  LanguageModel model({.vocabulary = 9, .layers = 2, .block = {.width = 8, .heads = 2}});
  ready(model);
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
