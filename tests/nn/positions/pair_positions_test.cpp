// Positions told to attention pair by pair: the heads are those that the scheme was made for.
#include "nn/attention/multi_head.hpp"
#include "nn/positions/positions.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

double apart(const Tensor& a, const Tensor& b) { return max(abs(a.detach() - b.detach())).item(); }

Tensor normal(const Dims& shape, std::uint64_t seed) { return random_normal(shape, seed, DType::f64); }

}  // namespace

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
      const auto told = ContainsSubstring("made for 2 heads");
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
