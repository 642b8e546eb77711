// Layers say what is wrong with their input, in one sentence, before they compute anything.
#include "nn/norm.hpp"
#include "nn/recurrent.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a norm and learned positions want their width, and do not repeat another") {
  RMSNorm four(4), one(1);
  four.initialise(1);
  one.initialise(1);
  CHECK_THROWS_WITH(four(zeros({2, 1})), ContainsSubstring("[rms_norm] x (2,1)") && ContainsSubstring("4"));
  CHECK_THROWS_WITH(one(zeros({2, 4})), ContainsSubstring("(2,4)"));
  CHECK_THROWS_AS(four(scalar(1, DType::f32)), Error);
  CHECK_NOTHROW(four(ones({4})));
  struct Root : Module {
    LearnedPositions positions{{*this, "places"}, 9, 4, 1.0};
  } root;
  root.initialise(1);
  CHECK_THROWS_WITH(root.positions(zeros({2, 3, 1}), 0),
                    ContainsSubstring("\"places\"] x must be (…, time, 4), got (2,3,1)"));
  CHECK_NOTHROW(root.positions(zeros({2, 3, 4}), 0));
}

TEST_CASE("rotary positions refuse an odd width") {
  const Attention attention(scaled_dot(), {.positions = rotary()});
  const Tensor odd = zeros({1, 3, 5}), even = zeros({1, 3, 4});
  CHECK_THROWS_WITH(attention(odd, odd, odd), ContainsSubstring("[rotary \"positions\"]") &&
                                                  ContainsSubstring("even") && ContainsSubstring("(1,3,5)"));
  CHECK_NOTHROW(attention(even, even, odd));
}

TEST_CASE("a recurrent layer has one layer or more") {
  CHECK_THROWS_WITH(GRU(2, 3, {.layers = 0}), ContainsSubstring("at least 1 layer, got 0"));
  CHECK_THROWS_AS(LSTM(2, 3, {.layers = -1}), Error);
}

TEST_CASE("heads want one batch of queries and keys, or one row for all") {
  for (const Size kv_heads : {4, 2}) {
    MultiHeadAttention layer({.width = 8, .heads = 4, .kv_heads = kv_heads});
    layer.initialise(1, DType::f64);
    const Tensor x = random_normal({3, 2, 8}, 1, DType::f64), first = slice(x, 0, 0, 1),
                 two = slice(x, 0, 0, 2);
    const auto told = ContainsSubstring(
        "queries and prepared keys must have the same batch size, or one of them must have batch size 1, got queries "
        "(2,2,8) and keys with batch size 3");
    CHECK_THROWS_WITH(layer(two, layer.prepare(x, x)), told);
    CHECK_THROWS_WITH(layer.context(two, layer.prepare(x, x)), told);
    for (const auto& [queries, keys] : {std::pair{first, x}, std::pair{x, first}}) {
      const AttentionOutput all = layer(queries, layer.prepare(keys, keys));
      CHECK(all.weights.shape() == Dims{3, 4, 2, 2});
      const AttentionOutput last = layer(slice(x, 0, queries.size(0) - 1, queries.size(0)),
                                         layer.prepare(slice(x, 0, keys.size(0) - 1, keys.size(0)),
                                                       slice(x, 0, keys.size(0) - 1, keys.size(0))));
      CHECK(max(abs(slice(all.context, 0, 2, 3) - last.context)).item() < 1e-14);
    }
  }
}

TEST_CASE("lengths and masks that do not fit attention are refused in its own words, at every rank") {
  const Attention attention(scaled_dot());
  for (const auto& [shape, lengths] : {std::pair{Dims{3, 4}, ValidLengths{1, 2, 3}},
                                       {Dims{3, 4}, ValidLengths{1, 2}},
                                       {Dims{2, 3, 4}, ValidLengths{1, 2, 3}},
                                       {Dims{2, 5, 3, 4}, ValidLengths{1}}}) {
    const Tensor x = zeros(shape);
    CHECK_THROWS_WITH(attention(x, x, x, lengths), ContainsSubstring("[attention] ") &&
                                                       ContainsSubstring("lengths and keys " + describe(x)) &&
                                                       ContainsSubstring("(batch, …, time, width)"));
  }
  CHECK_NOTHROW(attention(zeros({2, 5, 3, 4}), zeros({2, 5, 3, 4}), zeros({2, 5, 3, 4}), ValidLengths{1, 2}));
  MultiHeadAttention heads({.width = 4, .heads = 2});
  heads.initialise(1);
  const Tensor x = zeros({2, 3, 4});
  for (const Dims& shape : {Dims{}, Dims{3}, Dims{1, 2, 2, 3, 3}, Dims{1, 1, 1, 1, 1, 3}}) {
    const Mask mask = Mask::from(1, shape.count(), [](Size, Size) { return true; }).reshape(shape);
    CHECK_THROWS_WITH(
        heads(x, heads.prepare(x, x, mask)),
        ContainsSubstring("[multi_head] mask must be (queries, keys), (batch, queries, keys) or (batch, "
                          "heads, queries, keys), got " +
                          to_string(shape)));
  }
  for (const Dims& shape : {Dims{3, 3}, Dims{2, 3, 3}, Dims{2, 2, 3, 3}, Dims{1, 1, 1, 3}}) {
    const Mask mask = Mask::from(1, shape.count(), [](Size, Size) { return true; }).reshape(shape);
    CHECK_NOTHROW(heads(x, heads.prepare(x, x, mask)));
  }
}

TEST_CASE("numbers of buckets that make no sense are refused with the least that does") {
  const auto make = [](Size buckets, Size farthest, bool causal) {
    return Attention(scaled_dot(),
                     {.positions = t5_buckets(buckets, farthest), .pair_shape = {.causal = causal}});
  };
  for (const bool causal : {false, true}) {
    const Size least = causal ? 2 : 4;
    CHECK_NOTHROW(make(least, least / 2 + 1, causal));
    for (const auto& [buckets, farthest] :
         {std::pair{least - 2, Size{16}}, {least + 1, Size{16}}, {least, least / 2}}) {
      CAPTURE(causal, buckets, farthest);
      CHECK_THROWS_WITH(make(buckets, farthest, causal),
                        ContainsSubstring(fmt::format("buckets must be even and at least {}", least)) &&
                            ContainsSubstring(fmt::format("got {} and {}", buckets, farthest)));
    }
  }
}
