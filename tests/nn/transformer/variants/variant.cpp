#include "tests/nn/transformer/variants/variant.hpp"

#include <algorithm>

#include "nn/check/check_attention.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

namespace tapestry::testing {

namespace {

constexpr Size kWords = 7, kLayers = 2;

TransformerOptions options_of(const Variant& variant) {
  TransformerOptions options{.vocabulary = kWords, .layers = kLayers, .positions = no_positions()};
  options.block = {.width = 8, .heads = 2, .norm_position = NormPosition::none, .feed_forward = false};
  options.scale_words = false;
  variant.set(options);
  return options;
}

/// Gives every parameter random values: zeros and ones would hide a part that is left out.
void fill(LanguageModel& model) {
  model.initialise(1, DType::f64);
  State state = model.state();
  std::uint64_t seed = 1;
  for (auto& [name, values] : state) values = normal(values.shape(), seed++) * 0.4;
  model.load_state(state);
  model.eval();
}

Indices text(Size rows, Size time) {
  std::vector<std::int64_t> ids;
  for (Size i = 0; i < rows * time; ++i) ids.push_back((i * i + 3 * (i / time)) % kWords);
  return Indices(ids, {rows, time});
}

Tensor by_loops(const Variant& variant, const State& state, const Indices& ids) {
  const Row words = state.at("input.words.weight").to_vector();
  const Sees sees = [&](std::size_t i, std::size_t j) { return j <= i && variant.sees(i, j); };
  const std::vector<std::int64_t> all = ids.to_vector();
  const auto time = static_cast<std::size_t>(ids.shape()[1]);
  std::vector<double> logits;
  for (std::size_t row = 0; row * time < all.size(); ++row) {
    Rows x;
    for (std::size_t t = 0; t < time; ++t)
      x.push_back(head_of(words, static_cast<std::size_t>(all[row * time + t]), 8));
    for (Size layer = 0; layer < kLayers; ++layer) {
      const Rows added =
          variant.by_loops(Weights(state, "stack.blocks." + std::to_string(layer) + ".self."), x, sees);
      for (std::size_t t = 0; t < time; ++t)
        for (std::size_t u = 0; u < 8; ++u) x[t][u] += added[t][u];
    }
    for (const Row& scores : affine(x, words)) logits.insert(logits.end(), scores.begin(), scores.end());
  }
  return tensor(logits, {ids.shape()[0], ids.shape()[1], kWords}, DType::f64);
}

Mask mask_of(const Variant& variant, Size queries, Size keys) {
  return variant.mask ? variant.mask(queries, keys) : Mask{};
}

Tensor whole(const Variant& variant, const LanguageModel& model, const Indices& ids) {
  return model(ids, mask_of(variant, ids.shape()[1], ids.shape()[1]));
}

void check_cache(const Variant& variant, const LanguageModel& model) {
  const Size time = 12;
  const Indices ids = text(2, time);
  const Tensor expected = whole(variant, model, ids);
  for (const std::vector<Size>& parts :
       std::vector<std::vector<Size>>{{12}, {1, 11}, {7, 1, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    StackCache cache = model.cache(2);
    Size first = 0;
    for (const Size part : parts) {
      const Tensor logits =
          model(ids.columns(first, first + part), cache, mask_of(variant, part, first + part));
      CHECK(apart(logits, slice(expected, 1, first, first + part)) < 1e-11);
      first += part;
    }
    CHECK(cache.length() == time);
  }
  // A copy branches; rows that change places bring their text with them.
  StackCache cache = model.cache(4);
  model(ids.columns(0, 6), cache, mask_of(variant, 6, 6));
  StackCache copy = cache;
  model(ids.columns(0, 4), cache, mask_of(variant, 4, 10));
  copy.reorder_rows({1, 0});
  std::vector<std::int64_t> turned = ids.to_vector();
  std::rotate(turned.begin(), turned.begin() + time, turned.end());
  const Tensor logits = model(Indices(turned, ids.shape()).columns(6, 8), copy, mask_of(variant, 2, 8));
  CHECK(apart(logits, embedding(slice(expected, 1, 6, 8), Indices{1, 0})) < 1e-11);
}

}  // namespace

void check_variant(const Variant& variant) {
  INFO(variant.name);
  LanguageModel model(options_of(variant));
  fill(model);
  const State state = model.state();
  for (const Size time : {1, 2, 9, 70}) {
    CAPTURE(time);
    const Indices ids = text(2, time);
    CHECK(apart(whole(variant, model, ids), by_loops(variant, state, ids)) < 1e-11);
  }
  const TransformerOptions options = options_of(variant);
  const AttentionCheckResult check =
      check_attention(options.block, {.causal = true, .positions = options.positions},
                      {.mask = variant.mask, .takes_masks = variant.takes_masks});
  INFO(check.report());
  CHECK(check.ok());
  check_cache(variant, model);
}

}  // namespace tapestry::testing
