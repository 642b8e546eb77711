// Positions told to attention pair by pair: the heads are those that the scheme was made for.
#include "nn/attention/multi_head.hpp"
#include "nn/positions/positions.hpp"
#include "nn/transformer/encoder.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using testing::apart;
using testing::normal;

TEST_CASE("positions made for another number of heads are refused, in tiles too") {
  for (const Size time : {3, 80}) {
    const Tensor x = normal({2, 4, time, 6}, 1), single = normal({2, 1, time, 6}, 2);
    for (const PositionScheme& scheme : {alibi(), t5_buckets(8, 16)}) {
      Attention two(scaled_dot(), {.positions = scheme, .pair_shape = {.heads = 2}}),
          four(scaled_dot(), {.positions = scheme, .pair_shape = {.heads = 4}});
      two.initialise(1, DType::f64);
      four.initialise(1, DType::f64);
      const auto context = [](const Attention& attention, const Tensor& q, const Tensor& k) {
        ScoreState state;
        return attention.context(q, attention.prepare(k, k), state);
      };
      const auto told = ContainsSubstring("the 2 heads of the positions");
      CHECK_THROWS_WITH(two(x, x, x), told);
      CHECK_THROWS_WITH(context(two, x, x), told);
      CHECK_THROWS_WITH(context(two, select(x, 1, 0), select(x, 1, 0)), told);  // no axis of heads: one
      CHECK_NOTHROW(context(four, x, single));
      CHECK_NOTHROW(four(single, x, x));
      CHECK_NOTHROW(four(x, x, x));
      const Tensor grouped = reshape(x, {2, 2, 2, time, 6});
      CHECK(apart(context(four, grouped, grouped), reshape(context(four, x, x), {2, 2, 2, time, 6})) < 1e-12);
    }
    // These are told nothing of heads: any number will do.
    for (const PositionScheme& scheme : {rotary(), shaw(2)}) {
      Attention any(scaled_dot(), {.positions = scheme, .pair_shape = {.head_width = 6, .value_width = 6}});
      any.initialise(1, DType::f64);
      CHECK_NOTHROW(any(x, x, x));
    }
  }
}

TEST_CASE("attention refuses positions that only a model can add to its words") {
  CHECK_THAT(
      test::message_of<std::exception>([] { Attention(scaled_dot(), {.positions = sinusoidal()}); }),
      ContainsSubstring(
          "[attention] positions must be a scheme for pairs (rotary, alibi, …; nn/positions), got one"));
  CHECK_NOTHROW(Attention(scaled_dot(), {.positions = no_positions()}));
  TransformerOptions options;  // its blocks' attention gets none of them
  options.positions = sinusoidal();
  CHECK_NOTHROW(TransformerEncoder(options));
}

TEST_CASE("heads are counted where query or keys have fewer axes than the other") {
  for (const PositionScheme& scheme : {alibi(), t5_buckets(8, 16)})
    for (const Size heads : {1, 3}) {
      Attention attention(scaled_dot(), {.positions = scheme, .pair_shape = {.heads = heads}}),
          other(scaled_dot(), {.positions = scheme, .pair_shape = {.heads = 2}});
      attention.initialise(1, DType::f64);
      other.initialise(1, DType::f64);
      const Tensor many = normal({1, heads, 4, 6}, 1), few = normal({4, 6}, 2),
                   all = expand(few, {1, heads, 4, 6});
      CAPTURE(heads);
      CHECK(apart(attention(many, few, few).context, attention(many, all, all).context) < 1e-14);
      CHECK(apart(attention(few, many, many).context, attention(all, many, many).context) < 1e-14);
      const auto told =
          ContainsSubstring(fmt::format("the 2 heads of the positions, got query {} and keys {} with {}",
                                        describe(many), describe(few), heads));
      CHECK_THROWS_WITH(other(many, few, few), told);
      CHECK_THROWS_WITH(other(few, many, many), ContainsSubstring(fmt::format("with {};", heads)));
    }
}

TEST_CASE("a list of positions is applied run by run, and must have one position for each token") {
  const Tensor x = normal({2, 5, 3}, 1);
  std::vector<Size> firsts;
  const auto note = [&](const Tensor& part, Size first) {
    firsts.push_back(first);
    return part;
  };
  CHECK(apart(TokenPositions({4, 5, 5, 6, 2}).apply(x, note), x) == 0);
  CHECK(firsts == std::vector<Size>{4, 5, 2});
  for (const std::vector<Size>& list : {std::vector<Size>{4, 5, 5}, {0, 1, 2, 3, 4, 5}})
    CHECK_THROWS_WITH(TokenPositions(list).apply(x, note),
                      fmt::format("[positions] x must be (…, time, width) with one token for each of the {} "
                                  "positions, got {}",
                                  list.size(), describe(x)));
}
