// Attention in tiles inside the layers: long sequences give what the pipeline with its matrix gives.
#include <algorithm>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "core/attention/score_lambda.hpp"
#include "core/tape/node_info.hpp"
#include "nn/attention/multi_head.hpp"
#include "nn/attention/weight_recorder.hpp"
#include "nn/positions/positions.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;

namespace {

constexpr Size kLong = 101, kModelWidth = 24, kModelHeads = 4;

/// The largest difference, element by element.
double farthest(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, max(abs(a[i] - b[i])).item());
  return most;
}

LearnedScoreMod learned_decay() {
  return {{{"decay", {kModelHeads}, constant(0.2)}},
          [](const std::vector<Tensor>& p, Size queries, Size keys) {
            const auto ahead = static_cast<double>(keys - queries);
            return score_mod(
                [ahead](auto s, auto at, auto decay) { return s - decay(at.h) * abs(at.i + ahead - at.j); },
                learned(p[0]));
          }};
}

struct TiledCase {
  std::string name;
  PositionScheme positions;
  Size kv_heads = kModelHeads;
  LearnedScoreMod score_mod = {};
};

std::vector<TiledCase> cases() {
  return {{"no positions", {}},
          {"rotary", rotary()},
          {"ALiBi", alibi()},
          {"T5 buckets", t5_buckets()},
          {"a program", {}, kModelHeads, learned_decay()},
          {"a program, rotary", rotary(), kModelHeads, learned_decay()},
          {"a program, ALiBi", alibi(), kModelHeads, learned_decay()},
          {"a program, T5 buckets, grouped heads", t5_buckets(), 2, learned_decay()},
          {"a program, Shaw", shaw(4), kModelHeads, learned_decay()},
          {"Shaw, which cannot", shaw(4)},
          {"ALiBi, grouped heads", alibi(), 2},
          {"one head of keys", {}, 1}};
}

/// y and the gradients of everything, from a random cotangent.
std::vector<Tensor> run(MultiHeadAttention& layer, const Tensor& x, const std::function<Tensor()>& f) {
  std::vector<Tensor> found;
  Tape tape;
  const Tensor y = f();
  tape.backward(sum(y * random_normal(y.shape(), 7, y.dtype())));
  found.push_back(y.detach());
  for (const Tensor& leaf : layer.parameters()) {
    found.push_back(leaf.grad());
    leaf.clear_grad();
  }
  found.push_back(x.grad());
  x.clear_grad();
  return found;
}

}  // namespace

TEST_CASE("the context alone, in tiles, is the pipeline's, and so are all gradients") {
  for (const TiledCase& one : cases())
    for (const bool padded : {false, true}) {
      INFO(one.name << (padded ? ", padded" : ", causal"));
      MultiHeadOptions options;
      options.width = kModelWidth, options.heads = kModelHeads, options.kv_heads = one.kv_heads;
      options.attend.positions = one.positions;
      options.attend.score_mod = one.score_mod;
      options.causal = !padded;
      MultiHeadAttention layer(options);
      layer.initialise(3, DType::f64);
      const Tensor x = variable(random_normal({2, kLong, kModelWidth}, 4, DType::f64));
      const auto memory = [&] {
        if (padded) return layer.prepare(x, x, ValidLengths{kLong, 60});
        PreparedKV all = layer.prepare(x, x);
        all.mask = BlockMask::causal(kLong, kLong);
        return all;
      };
      const auto in_tiles = run(layer, x, [&] { return layer.context(x, memory()); });
      const auto by_pipeline = run(layer, x, [&] { return layer(x, memory()).context; });
      CHECK(farthest(in_tiles, by_pipeline) < 1e-11);
    }
}

TEST_CASE("weights that are recorded, and dropout, keep their way through the pipeline") {
  MultiHeadOptions options;
  options.width = kModelWidth, options.heads = kModelHeads;
  options.attend.dropout = 0.5;
  MultiHeadAttention layer(options);
  layer.initialise(3, DType::f64);
  const Tensor x = random_normal({1, kLong, kModelWidth}, 4, DType::f64);
  const PreparedKV memory = layer.prepare(x, x);
  set_random(1, 1);
  const Tensor dropped = layer.context(x, memory);
  set_random(1, 1);
  CHECK(farthest({dropped}, {layer(x, memory).context}) == 0);
  layer.eval();
  const Tensor in_tiles = layer.context(x, memory);
  CHECK(farthest({dropped}, {in_tiles}) > 1e-3);
  const WeightRecorder recorder(layer.attention);
  const Tensor recorded = layer.context(x, memory);
  REQUIRE(recorder.weights().size() == 1);
  CHECK(recorder.weights()[0].shape() == Dims{1, kModelHeads, kLong, kLong});
  CHECK(farthest({recorded}, {in_tiles}) < 1e-12);
}

TEST_CASE("only softmax_weights runs in tiles") {
  const Normaliser wrapped = [](const Tensor& scores, const Mask& mask) {
    return softmax_weights(scores, mask);
  };
  CHECK(Normaliser().is_softmax());
  CHECK(AttentionOptions().normalise.is_softmax());
  CHECK_FALSE(wrapped.is_softmax());
  CHECK_FALSE(Normaliser(wrapped).is_softmax());
  CHECK_FALSE(Normaliser(sparsemax_weights).is_softmax());
  CHECK_THROWS_WITH(Normaliser(Normaliser::Function()),
                    Catch::Matchers::ContainsSubstring("must not be empty"));

  const Tensor x = variable(random_normal({1, kLong, kModelWidth}, 4, DType::f64));
  const auto context = [&](const Normaliser& normalise, bool in_tiles) {
    const Attention layer(scaled_dot(), {.normalise = normalise});
    Tape tape;
    ScoreState state;
    const Tensor y = layer.context(x, layer.prepare(x, x), state);
    std::set<std::string> ops;
    for (std::size_t i = 0; i < tape.size(); ++i) ops.insert(tape.node(i).op);
    CHECK(ops.contains("attend") == in_tiles);
    CHECK(ops.contains("softmax") == !in_tiles);
    return y;
  };
  CHECK(farthest({context(softmax_weights, true)}, {context(wrapped, false)}) < 1e-12);
}

TEST_CASE("a recorder sees calls from other threads, of its layer alone", "[threads]") {
  const Attention layer(scaled_dot()), other(scaled_dot());
  const Tensor x = random_normal({1, 3, kModelWidth}, 4, DType::f64);
  const Tensor expected = layer(x, x, x).weights;
  const WeightRecorder recorder(layer);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int call = 0; call < 25; ++call) layer(x, x, x), other(x, x, x);
    });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(recorder.weights().size() == 100);
  for (const Tensor& weights : recorder.weights()) CHECK(farthest({weights}, {expected}) == 0);
}

TEST_CASE("a long language model: cache = no cache, and no word depends on a later one") {
  for (const TiledCase& one : cases()) {
    INFO(one.name);
    TransformerOptions options;
    options.vocabulary = 11, options.layers = 2;
    options.block.width = kModelWidth, options.block.heads = kModelHeads,
    options.block.kv_heads = one.kv_heads;
    options.positions = one.positions;
    options.block.score_mod = one.score_mod;
    LanguageModel model(options);
    model.initialise(5, DType::f64);
    model.eval();
    std::vector<std::int64_t> words;
    for (Size i = 0; i < kLong; ++i) words.push_back(i * i % 11);
    const Indices all(words, {1, kLong});
    const Tensor logits = model(all);
    StackCache cache = model.cache(8);
    std::vector<Tensor> parts;
    for (const auto& [begin, end] : std::vector<std::pair<Size, Size>>{{0, 70}, {70, 71}, {71, kLong}})
      parts.push_back(model(all.columns(begin, end), cache));
    CHECK(farthest({concat(parts, 1)}, {logits}) < 1e-11);
    words[90] = (words[90] + 1) % 11;
    const Tensor changed = model(Indices(words, {1, kLong}));
    CHECK(farthest({slice(changed, 1, 0, 90)}, {slice(logits, 1, 0, 90)}) == 0);
    CHECK(farthest({slice(changed, 1, 90, kLong)}, {slice(logits, 1, 90, kLong)}) > 1e-6);
  }
}

TEST_CASE("few queries, and few pairs, keep the bits of plain ops; more go through tiles") {
  Attention attention(scaled_dot());
  const auto context = [&](Size queries, Size keys) {
    const Tensor q = random_normal({2, queries, kModelWidth}, 4, DType::f64),
                 k = random_normal({2, keys, kModelWidth}, 5, DType::f64);
    const PreparedKV memory = attention.prepare(k, k);
    ScoreState state;
    return std::pair{attention.context(q, memory, state), attention(q, memory).context};
  };
  for (const auto& [queries, keys] :
       {std::pair<Size, Size>{1, 5000}, {15, 600}, {16, 255}, {63, 65}, {200, 20}}) {
    CAPTURE(queries, keys);
    const auto [alone, with_weights] = context(queries, keys);
    CHECK(testing::equal_bits(alone, with_weights));
  }
  for (const auto& [queries, keys] : {std::pair<Size, Size>{16, 256}, {64, 64}, {205, 20}}) {
    CAPTURE(queries, keys);
    const auto [alone, with_weights] = context(queries, keys);
    CHECK(farthest({alone}, {with_weights}) < 1e-13);
  }
}
