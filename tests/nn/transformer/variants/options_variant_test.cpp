// Variants that the options of a block describe, each in a language model and in plain loops.
#include <numbers>

#include "core/attention/score_lambda.hpp"
#include "core/tape/tape.hpp"
#include "nn/attention/masking.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/tensors.hpp"
#include "tests/nn/transformer/variants/variant.hpp"

using namespace tapestry;
using namespace tapestry::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Gated attention (Qiu et al. 2025) with a learned sink (gpt-oss, 2025), two query heads for one key head.
Variant gated() {
  return {"output gate, learned sink, grouped heads",
          [](TransformerOptions& options) {
            options.block.output_gate = options.block.learned_sink = true;
            options.block.kv_heads = 1;
          },
          [](const Weights& w, const Rows& x, const Sees& sees) {
            return heads_by_loops(w, x, sees, {.kv_heads = 1, .gate = true, .sink = true});
          }};
}

/// A sliding window with sinks (Xiao et al. 2023): the last five keys and the first two.
Variant window() {
  return {"window with sinks",
          [](TransformerOptions& options) {
            options.block.window = 5;
            options.block.sink_tokens = 2;
          },
          [](const Weights& w, const Rows& x, const Sees& sees) { return heads_by_loops(w, x, sees, {}); },
          [](std::size_t i, std::size_t j) { return i - j < 5 || j < 2; }};
}

/// Forgetting attention (Lin et al. 2025): s_ij + Σ_{j < l ≤ i} ln sigmoid(w_h · x_l).
Variant forgetting() {
  return {
      "FoX",
      [](TransformerOptions& options) {
        options.block.score_mod = {{{"forget", {2, 8}, normal(0.1)}},
                                   [](const std::vector<Tensor>& p, Size queries, Size keys) {
                                     const auto first = static_cast<double>(keys - queries);
                                     return score_mod(
                                         [first](auto s, auto at, auto kept) {
                                           return s + kept(at.b, at.i + first, at.h) - kept(at.b, at.j, at.h);
                                         },
                                         learned(cumsum(p.back(), 1)));
                                   },
                                   [](const std::vector<Tensor>& p, const Tensor& x) {
                                     return neg(softplus(neg(matmul(x, transpose(p[0])))));
                                   }};
      },
      [](const Weights& w, const Rows& x, const Sees& sees) {
        return heads_by_loops(
            w, x, sees,
            {.bias = [](const Weights& weights, const Rows& in, std::size_t h, std::size_t i, std::size_t j) {
              double kept = 0;
              for (std::size_t l = j + 1; l <= i; ++l)
                kept +=
                    std::log(sigmoid_of(dot_of(head_of(weights("attention.score_mod.forget"), h, 8), in[l])));
              return kept;
            }});
      }};
}

/// QK-norm with half of each head rotated, in adjacent pairs, by YaRN's frequencies.
Variant normed() {
  const auto turn = [](Row& head, std::size_t position) {
    // One pair of θ = 1: 16 / 2π = 2.5 rotations within L; slow 1 and fast 8 give γ = 0.2209…
    const double kept = (16 / (2 * std::numbers::pi) - 1) / 7, theta = (1 - kept) / 4 + kept;
    const double angle = theta * static_cast<double>(position), factor = 0.1 * std::log(4) + 1;
    const double a = head[0], b = head[1];
    head[0] = factor * (a * std::cos(angle) - b * std::sin(angle));
    head[1] = factor * (a * std::sin(angle) + b * std::cos(angle));
  };
  return {"QK-norm, partial rotary, YaRN",
          [](TransformerOptions& options) {
            options.block.qk_norm = true;
            options.positions = rotary({.width = 2,
                                        .pairs = RotaryPairs::adjacent,
                                        .scaling = RotaryScaling::yarn,
                                        .factor = 4,
                                        .trained_length = 16,
                                        .fast = 8});
          },
          [turn](const Weights& w, const Rows& x, const Sees& sees) {
            return heads_by_loops(w, x, sees, {.norm = true, .turn = turn});
          }};
}

/// Packed documents, four tokens each, with a learned bias of row and column on a grid of two columns.
Variant packed() {
  return {
      "2-D bias, packed documents",
      [](TransformerOptions& options) {
        options.block.score_mod = {{{"bias", {2, 3, 3}, normal(0.1)}},
                                   [](const std::vector<Tensor>& p, Size queries, Size keys) {
                                     const auto first = static_cast<double>(keys - queries);
                                     return score_mod(
                                         [first](auto s, auto at, auto bias) {
                                           const auto i = at.i + first, row = floor(i / 2) - floor(at.j / 2);
                                           return s + bias(at.h, min(abs(row), 2), i % 2 - at.j % 2 + 1);
                                         },
                                         learned(p[0]));
                                   }};
      },
      [](const Weights& w, const Rows& x, const Sees& sees) {
        return heads_by_loops(
            w, x, sees,
            {.bias = [](const Weights& weights, const Rows&, std::size_t h, std::size_t i, std::size_t j) {
              const std::size_t row = std::min<std::size_t>(i / 2 - j / 2, 2);
              return weights("attention.score_mod.bias")[(h * 3 + row) * 3 + i % 2 + 1 - j % 2];
            }});
      },
      [](std::size_t i, std::size_t j) { return i / 4 == j / 4; },
      [](Size queries, Size keys) {
        return Mask::from(queries, keys, [=](Size i, Size j) { return (i + keys - queries) / 4 == j / 4; });
      }};
}

}  // namespace

TEST_CASE("variants that options describe work in a language model as in plain loops") {
  Variant fox = forgetting();
  fox.takes_masks = false;  // the gate of a hidden token still counts
  for (const Variant& variant : {gated(), window(), fox, normed(), packed()}) check_variant(variant);
}

TEST_CASE("packed documents give the logits of each document alone") {
  LanguageModel model({.vocabulary = 5, .block = {.width = 8, .heads = 2}, .positions = rotary()});
  model.initialise(1, DType::f64);
  model.eval();
  const Indices first({1, 2, 3}, {1, 3}), second({4, 0}, {1, 2}), both({1, 2, 3, 4, 0}, {1, 5});
  const Tensor logits = model(both, same_document(Indices({7, 7, 7, 2, 2}, {1, 5})));
  CHECK(apart(slice(logits, 1, 0, 3), model(first)) < 1e-12);
  CHECK(apart(slice(logits, 1, 3, 5), model(second)) < 1e-12);
  CHECK_THROWS_WITH(model(both, Mask::causal(5, 4)), ContainsSubstring("(…, 5 queries, 5 keys), got (5,4)"));
  CHECK_THROWS_WITH(same_document({1, 2}), ContainsSubstring("documents must be (batch, time), got (2)"));
}

TEST_CASE("every normaliser counts the learned sink, and masked queries stay 0") {
  const Tensor q = normal({2, 2, 3, 4}, 1), k = normal({2, 2, 5, 4}, 2);
  const Mask mask = Mask::from(3, 5, [](Size i, Size j) { return i < 2 && j <= i + 2; });
  const Tensor sink = tensor({0.7, -0.4}, DType::f64);
  const auto sum_of = [&](const Normaliser& normalise) {
    Attention attention(scaled_dot(),
                        {.normalise = normalise, .pair_shape = {.heads = 2}, .learned_sink = true});
    attention.initialise(1, DType::f64);
    attention.load_state({{"sink", sink}});
    const Tensor weights = attention(q, k, k, mask).weights;
    CHECK(max(abs(slice(weights, -2, 2, 3))).item() == 0);
    // The weight of the sink is what the others leave, from the scores and the sink's logit by hand.
    const Tensor scores = matmul(q, transpose(k)) * 0.5;
    const Tensor column = expand(reshape(sink, {1, 2, 1, 1}), {2, 2, 3, 1});
    const Mask visible = Mask::from(3, 6, [](Size i, Size j) { return j == 5 || (i < 2 && j <= i + 2); });
    CHECK(apart(weights, slice(normalise(concat({scores, column}, -1), visible), -1, 0, 5)) < 1e-13);
    return sum(slice(weights, -2, 0, 2)).item();
  };
  CHECK(sum_of(softmax_weights) < 8);
  CHECK(sum_of(entmax15_weights) < 8);
  sum_of(sigmoid_weights);
  Attention three(scaled_dot(), {.pair_shape = {.heads = 3}, .learned_sink = true});
  three.initialise(1, DType::f64);
  CHECK_THROWS_WITH(three(q, k, k), ContainsSubstring("the 3 heads of the sink, got query"));
}

TEST_CASE("options that cannot work together are refused with advice") {
  struct Identity : SelfAttention {
    using SelfAttention::SelfAttention;
    Tensor operator()(const Tensor& x, const VisiblePairs&) const override { return x; }
  };
  const auto message = [](const std::function<void(TransformerOptions&)>& set) {
    TransformerOptions options{.vocabulary = 5, .block = {.width = 8, .heads = 2}};
    set(options);
    return test::message_of<Error>([&] { LanguageModel model(options); });
  };
  const auto own = self_attention<Identity>();
  CHECK_THAT(message([&](auto& o) { o.block.attention = own, o.block.qk_norm = true; }),
             ContainsSubstring("qk_norm must not be set together with BlockOptions::attention"));
  CHECK_THAT(message([&](auto& o) { o.block.attention = own, o.block.normalise = sigmoid_weights; }),
             ContainsSubstring("normalise must not be set together with BlockOptions::attention"));
  CHECK_THAT(message([&](auto& o) { o.block.attention = own, o.block.attention_dropout = 0.1; }),
             ContainsSubstring("attention_dropout must not be set together"));
  CHECK_THAT(message([&](auto& o) { o.block.attention = own, o.block.kv_heads = 1; }),
             ContainsSubstring("kv_heads must not be set together"));
  for (const ScoreFactory& score :
       {general(4, 4), ScoreFactory([](const Tensor&q, const Tensor&k) { return matmul(q, transpose(k)); })})
    CHECK_THAT(message([&](auto& o) { o.block.attention = own, o.block.score = score; }),
               ContainsSubstring("score must not be set together with BlockOptions::attention"));
  CHECK(message([&](auto& o) { o.block.attention = own, o.block.score = scaled_dot(); }) ==
        "(nothing thrown)");
  // With cross-attention, they have an effect.
  CHECK_NOTHROW(TransformerBlock({.width = 8, .heads = 2, .score = general(4, 4), .attention = own},
                                 {.causal = true, .memory_width = 8}));
  CHECK_THAT(message([&](auto& o) { o.block.attention = own, o.positions = rotary(); }),
             ContainsSubstring("positions for pairs (rotary, alibi, …) must not be set"));
  CHECK_THAT(message([](auto& o) { o.block.sink_tokens = 1; }),
             ContainsSubstring("sink_tokens needs a window, got 0 and 1"));
  CHECK_THAT(message([](auto& o) { o.block.attention = [](Parent) { return ModulePtr<SelfAttention>(); }; }),
             ContainsSubstring("BlockOptions::attention must return a layer, got none"));
  TransformerOptions options{.vocabulary = 5, .block = {.width = 8, .heads = 2, .attention = own}};
  LanguageModel model(options);
  model.initialise(1, DType::f64);
  StackCache cache = model.cache(4);
  model(Indices({1, 2}, {1, 2}), cache);
  CHECK_THROWS_WITH(model(Indices({1}, {1, 1}), cache, Mask::causal(1, 3)),
                    ContainsSubstring("got a mask for 1 of 3 tokens; override SelfAttention::next()"));
}

TEST_CASE("numbers of a score_mod from the input, and parts of a cache, are refused where they do not fit") {
  const auto make = [](const std::vector<Tensor>& p, Size, Size) {
    return score_mod([](auto s, auto at, auto numbers) { return s + numbers(at.b, at.j, 0); },
                     learned(p.back()));
  };
  const auto numbers = [](const std::vector<Tensor>&, const Tensor& x) { return x; };
  const auto transposed = [](const std::vector<Tensor>&, const Tensor& x) { return transpose(x); };
  const Tensor x = normal({2, 3, 4}, 1);
  Attention alone(scaled_dot(), {.score_mod = {{}, make, numbers}});
  CHECK_THROWS_WITH(alone(x, x, x),
                    ContainsSubstring("data needs the layer's input; use it in MultiHeadAttention"));
  MultiHeadOptions options{.width = 4, .heads = 2};
  options.attend.score_mod = {{}, make, transposed};
  MultiHeadAttention wrong(options);
  wrong.initialise(1, DType::f64);
  CHECK_THROWS_WITH(wrong(x, x, x), ContainsSubstring("data must be (batch, time, n)"));
  KeyValueCache cache(2);
  cache.append(x);
  CHECK_THROWS_WITH(cache.append(x, x), ContainsSubstring("must append the same parts"));
  Tape tape;
  CHECK_THROWS_WITH(cache.set_state({x}, 3), ContainsSubstring("a cache must be used without a tape"));
}

TEST_CASE("rows that are selected from prepared keys bring the numbers of their tokens") {
  const Tensor numbers = normal({2, 3, 4}, 2);
  const PreparedKV memory{normal({2, 1, 3, 4}, 1), normal({2, 1, 3, 4}, 3), {}, {}, numbers};
  CHECK(apart(select_rows(memory, {1, 1}).data, embedding(numbers, Indices{1, 1})) == 0);
}
