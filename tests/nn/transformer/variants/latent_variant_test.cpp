// Multi-head latent attention in a language model and in plain loops, its cache, and its errors.
#include "core/core.hpp"
#include "nn/transformer/latent_attention.hpp"
#include "tests/nn/tensors.hpp"
#include "tests/nn/transformer/variants/variant.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace tapestry;
using namespace tapestry::testing;

namespace {

constexpr std::size_t kHeads = 2;

LatentAttentionOptions options_of(Size rotary) {
  return {.width = 8, .heads = 2, .head_width = 3, .rank = 5, .rotary_width = rotary, .base = 100};
}

/// Rotates the pairs (i, i + d/2) by p · 100^{−2i/d}.
Row turned(Row x, std::size_t p) {
  const std::size_t half = x.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double angle =
        static_cast<double>(p) * std::pow(100.0, -static_cast<double>(i) / static_cast<double>(half));
    const double a = x[i], b = x[i + half];
    x[i] = a * std::cos(angle) - b * std::sin(angle);
    x[i + half] = a * std::sin(angle) + b * std::cos(angle);
  }
  return x;
}

/// Keys and values of every head are computed for every token, without absorbed matrices.
Rows latent(const Weights& w, const Rows& x, const Sees& sees, std::size_t rotary) {
  const Rows c = affine(x, w("down.weight")), k = affine(c, w("key_up.weight")),
             v = affine(c, w("value_up.weight")), q = affine(x, w("query.weight"));
  Rows turning_k(x.size()), turning_q(x.size());
  if (rotary > 0) {
    turning_k = affine(x, w("rotary_key.weight"));
    turning_q = affine(x, w("rotary_query.weight"));
  }
  Rows joined(x.size(), Row(kHeads * 3));
  for (std::size_t h = 0; h < kHeads; ++h)
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row scores(x.size());
      for (std::size_t j = 0; j < x.size(); ++j) {
        double score = dot_of(head_of(q[i], h, 3), head_of(k[j], h, 3));
        if (rotary > 0) score += dot_of(turned(head_of(turning_q[i], h, rotary), i), turned(turning_k[j], j));
        scores[j] = score / std::sqrt(static_cast<double>(3 + rotary));
      }
      add_mix(joined[i], h * 3, soft_weights(scores, i, sees), v, h, 3);
    }
  return affine(joined, w("output.weight"));
}

Variant with(Size rotary) {
  return {.name = "latent attention with a rotary part of " + std::to_string(rotary),
          .set =
              [=](TransformerOptions& o) {
                o.block.attention = self_attention<LatentAttention>(options_of(rotary));
              },
          .by_loops = [=](const Weights& w, const Rows& x,
                          const Sees& sees) { return latent(w, x, sees, static_cast<std::size_t>(rotary)); }};
}

}  // namespace

TEST_CASE("latent attention in a model: loops, derivatives, absorbed cache") { check_variant(with(4)); }

TEST_CASE("latent attention without a rotary part, with a mask of the caller") {
  Variant variant = with(0);
  variant.sees = [](std::size_t i, std::size_t j) { return j == 0 || (i + j) % 3 != 0; };
  variant.mask = [](Size queries, Size keys) {
    return Mask::from(queries, keys,
                      [=](Size i, Size j) { return j == 0 || (i + keys - queries + j) % 3 != 0; });
  };
  check_variant(variant);
}

TEST_CASE("latent attention: the cache stores the latent vector and one rotary key") {
  LatentAttention layer({}, options_of(4));
  layer.initialise(3, DType::f64);
  KeyValueCache cache(2);
  const Tensor x = normal({3, 70, 8}, 4);
  const Tensor read = layer.next(x, VisiblePairs({.causal = true}, 70, 70), cache);
  CHECK(cache.keys().shape() == Dims{3, 70, 5 + 4});
  CHECK_FALSE(cache.values().defined());
  CHECK(apart(slice(cache.keys(), -1, 0, 5), layer.down(x)) == 0);
  CHECK(apart(read, layer(x, VisiblePairs({.causal = true}, 70, 70))) < 1e-12);
  // A mask of each batch row, (B, Tq, Tk): all rows but the first see their own token alone.
  const Mask own =
      Mask::from(3, 9, [](Size row, Size key) { return row == 0 || key == 8; }).reshape({3, 1, 9});
  KeyValueCache short_text(9);
  const Tensor few = slice(x, 1, 0, 9);
  layer.next(slice(few, 1, 0, 8), VisiblePairs({.causal = true}, 8, 8), short_text);
  const Tensor last = layer.next(slice(few, 1, 8, 9), VisiblePairs({.causal = true}, 1, 9, own), short_text);
  const Tensor all = layer(few, VisiblePairs({.causal = true}, 9, 9));
  CHECK(apart(slice(last, 0, 0, 1), slice(slice(all, 0, 0, 1), 1, 8, 9)) < 1e-12);
  const Tensor value = layer.output(layer.value_up(layer.down(slice(few, 1, 8, 9))));
  CHECK(apart(slice(last, 0, 1, 2), slice(value, 0, 1, 2)) < 1e-12);
}

TEST_CASE("latent attention: a single token with another mask for each head") {
  LatentAttention layer({}, options_of(4));
  layer.initialise(3, DType::f64);
  const Tensor x = normal({3, 9, 8}, 4);
  // Head 1 of the last token sees every third key.
  const auto mask = [](Size queries) {
    return Mask::from(2 * queries, 9,
                      [=](Size row, Size key) {
                        const Size i = row % queries + 9 - queries;
                        return key <= i && (row < queries || i < 8 || key % 3 == 2);
                      })
        .reshape({1, 2, queries, 9});
  };
  KeyValueCache cache(9);
  layer.next(slice(x, 1, 0, 8), VisiblePairs({.causal = true}, 8, 8), cache);
  const Tensor last = layer.next(slice(x, 1, 8, 9), VisiblePairs({.causal = true}, 1, 9, mask(1)), cache);
  const Tensor all = layer(x, VisiblePairs({.causal = true}, 9, 9, mask(9)));
  CHECK(apart(last, slice(all, 1, 8, 9)) < 1e-12);
  CHECK(apart(last, slice(layer(x, VisiblePairs({.causal = true}, 9, 9)), 1, 8, 9)) > 1e-3);
}

TEST_CASE("latent attention: no tokens, no rows, f32") {
  LatentAttention layer({}, options_of(4));
  layer.initialise(3);
  const VisiblePairs none({.causal = true}, 0, 0);
  CHECK(layer(zeros({2, 0, 8}), none).shape() == Dims{2, 0, 8});
  CHECK(layer(zeros({0, 3, 8}), VisiblePairs({.causal = true}, 3, 3)).shape() == Dims{0, 3, 8});
  KeyValueCache cache(4);
  const Tensor x = random_normal({1, 33, 8}, 1);
  Tensor last;
  for (Size t = 0; t < 33; ++t)
    last = layer.next(slice(x, 1, t, t + 1), VisiblePairs({.causal = true}, 1, t + 1), cache);
  CHECK(apart(last, slice(layer(x, VisiblePairs({.causal = true}, 33, 33)), 1, 32, 33)) < 1e-6);
}

TEST_CASE("latent attention refuses sizes that do not fit") {
  CHECK_THROWS_WITH(LatentAttention({}, LatentAttentionOptions{.width = 8, .heads = 2, .head_width = 4}),
                    ContainsSubstring("must be at least 1, got 8, 2, 4 and 0"));
  CHECK_THROWS_WITH(LatentAttention({}, options_of(3)),
                    ContainsSubstring("rotary_width must be even") && ContainsSubstring("got 3"));
  LatentAttention layer({}, options_of(2));
  layer.initialise(1);
  CHECK_THROWS_WITH(layer(zeros({1, 2, 7}), VisiblePairs({.causal = true}, 2, 2)),
                    ContainsSubstring("x must be (batch, time, 8)"));
}
