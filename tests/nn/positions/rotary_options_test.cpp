// Rotary positions with each option, compared with complex numbers: pair by pair, position by position.
#include <cmath>
#include <complex>
#include <numbers>

#include "nn/attention/multi_head.hpp"
#include "nn/positions/positions.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using testing::apart;
using testing::normal;

namespace {

struct Case {
  RotaryOptions options;
  double magnitude;                        // factor of the rotated components
  double (*turn)(double i, double width);  // radians per position of pair i
};

double plain(double i, double width) { return std::exp(-2 * i / width * std::log(10000.0)); }

/// YaRN by its formulas, with wavelengths: L 64, s 4, slow 1, fast 8.
double yarn(double i, double width) {
  const double wavelength = 2 * std::numbers::pi / plain(i, width), rotations = 64 / wavelength;
  const double kept = rotations < 1 ? 0 : rotations > 8 ? 1 : (rotations - 1) / 7;
  return (1 - kept) * plain(i, width) / 4 + kept * plain(i, width);
}

std::vector<Case> cases() {
  const RotaryPairs adjacent = RotaryPairs::adjacent;
  const double of_yarn = 1.1386294361119891;  // 0.1 ln 4 + 1
  RotaryOptions ramped{.scaling = RotaryScaling::yarn, .factor = 4, .trained_length = 64, .fast = 8};
  RotaryOptions other = ramped;
  other.pairs = adjacent;
  other.width = 4;
  other.attention_factor = 0.5;
  return {{{}, 1, plain},
          {{.pairs = adjacent}, 1, plain},
          {{.base = 100}, 1, [](double i, double width) { return std::pow(100, -2 * i / width); }},
          {{.width = 4}, 1, plain},
          {{.width = 4, .pairs = adjacent, .attention_factor = 3.0}, 3, plain},
          {{.scaling = RotaryScaling::linear, .factor = 8},
           1,
           [](double i, double w) { return plain(i, w) / 8; }},
          {{.width = 6, .scaling = RotaryScaling::ntk, .factor = 4},
           1,
           [](double i, double w) { return std::pow(10000 * std::pow(4, w / (w - 2)), -2 * i / w); }},
          {ramped, of_yarn, yarn},
          {other, 0.5, yarn}};
}

/// Rotates x (…, T, width) by complex multiplication.
Tensor by_hand(const Tensor& x, Size first, const Case& one) {
  std::vector<double> numbers = x.to_vector();
  const Size head = x.size(-1), time = x.size(-2);
  const Size width = one.options.width > 0 ? one.options.width : head;
  for (Size row = 0; row < x.count() / head; ++row)
    for (Size i = 0; i < width / 2; ++i) {
      const bool halves = one.options.pairs == RotaryPairs::halves;
      double* const at = numbers.data() + row * head;
      double &a = at[halves ? i : 2 * i], &b = at[halves ? i + width / 2 : 2 * i + 1];
      const double angle = static_cast<double>(first + row % time) *
                           one.turn(static_cast<double>(i), static_cast<double>(width));
      const auto rotated = std::complex(a, b) * std::polar(one.magnitude, angle);
      a = rotated.real();
      b = rotated.imag();
    }
  return tensor(numbers, x.shape(), DType::f64);
}

}  // namespace

TEST_CASE("rotary positions with each option rotate as complex numbers do") {
  for (const Case& one : cases())
    for (const Size time : {0, 1, 3, 70}) {
      CAPTURE(static_cast<int>(one.options.scaling), one.options.width, time);
      const RotaryPositions positions({}, {.head_width = 8}, one.options);
      const Tensor grouped = normal({2, 2, 3, time, 8}, 3), single = normal({1, 1, time, 8}, 4);
      CHECK(apart(positions.rotate(grouped, 5), by_hand(grouped, 5, one)) < 1e-11);
      CHECK(apart(positions.rotate_keys(single, 0), by_hand(single, 0, one)) < 1e-11);
      CHECK(apart(positions.rotate_queries(single, 900), by_hand(single, 900, one)) < 1e-11);
    }
}

TEST_CASE("the gradient of rotary positions is exact with each option") {
  for (const Case& one : cases()) {
    const RotaryPositions positions({}, {.head_width = 8}, one.options);
    CHECK_GRADIENTS([&](const std::vector<Tensor>& x) { return positions.rotate(x[0], 2); },
                    {transpose(normal({1, 3, 2, 8}, 1), 1, 2)});
  }
}

TEST_CASE("attention gives each query and key its position, with each option") {
  const Tensor q = normal({1, 2, 3, 8}, 1), k = normal({1, 2, 5, 8}, 2), v = normal({1, 2, 5, 4}, 3);
  const Attention plain_attention(scaled_dot());
  for (const Case& one : cases()) {
    const Attention attention(
        scaled_dot(), {.positions = rotary(one.options), .pair_shape = {.heads = 2, .head_width = 8}});
    ScoreState state;
    state.step = 2;
    const Tensor context = attention(q, attention.prepare(k, v), state).context;
    CHECK(apart(context, plain_attention(by_hand(q, 2, one), by_hand(k, 0, one), v).context) < 1e-12);
  }
}

TEST_CASE("the published ramp of YaRN keeps, mixes and divides the pairs that its code does") {
  // 128 components, L 2048: 64 · log_10000(2048 / 64π) = 16.1 and 64 · log_10000(2048 / 2π) = 40.2, so the ramp goes
  // from pair 16 to pair 41.
  const RotaryPositions positions(
      {}, {.head_width = 128},
      {.scaling = RotaryScaling::yarn, .factor = 16, .trained_length = 2048, .ramp = YarnRamp::pairs});
  const std::vector<double> turns = positions.frequencies(128);
  const auto share = [&](Size i) {
    return turns[static_cast<std::size_t>(i)] / plain(static_cast<double>(i), 128);
  };
  CHECK(share(0) == Approx(1));
  CHECK(share(16) == Approx(1));
  CHECK(share(28) == Approx(0.52 + 0.48 / 16));
  CHECK(share(41) == Approx(1.0 / 16));
  CHECK(share(63) == Approx(1.0 / 16));
}

TEST_CASE("rotary({}) has the default options, and a number is the base") {
  const Tensor q = normal({1, 2, 3, 8}, 1), k = normal({1, 2, 5, 8}, 2);
  const auto weights = [&](const PositionScheme& scheme) {
    return Attention(scaled_dot(), {.positions = scheme, .pair_shape = {.heads = 2, .head_width = 8}})(q, k,
                                                                                                       k)
        .weights;
  };
  CHECK(apart(weights(rotary({})), weights(rotary())) == 0);
  CHECK(apart(weights(rotary({})), weights(rotary(10000))) == 0);
  CHECK(apart(weights(rotary(100)), weights(rotary({.base = 100}))) == 0);
  CHECK(apart(weights(rotary(100)), weights(rotary())) > 1e-3);
}

TEST_CASE("rotary positions refuse heads of another width and options out of range") {
  const RotaryPositions eight({}, {.head_width = 8}, {});
  CHECK_THROWS_WITH(eight.rotate(normal({1, 2, 12}, 1), 0),
                    ContainsSubstring("heads must have the width 8 of the positions, got (1,2,12)"));
  const auto message = [](const RotaryOptions& options, Size head_width = 8) {
    return test::message_of<Error>([&] { RotaryPositions({}, {.head_width = head_width}, options); });
  };
  const RotaryScaling yarn_scaling = RotaryScaling::yarn;
  CHECK_THAT(message({.width = 3}), ContainsSubstring("[rotary] width must be even"));
  CHECK_THAT(message({.width = 10}), ContainsSubstring("at most the head's width 8, got 10"));
  CHECK_THAT(message({.base = 0}), ContainsSubstring("base must be positive and finite, got 0"));
  CHECK_THAT(message({}, 7), ContainsSubstring("set RotaryOptions::width to rotate a part"));
  CHECK(message({.width = 4}, 7) == "(nothing thrown)");
  CHECK_THAT(message({.factor = 2}),
             ContainsSubstring("factor must be positive and finite, and 1 without scaling"));
  CHECK_THAT(message({.scaling = RotaryScaling::ntk, .factor = -1}), ContainsSubstring("got -1"));
  CHECK_THAT(message({.scaling = yarn_scaling, .factor = 2}),
             ContainsSubstring("trained_length must be at least 1"));
  CHECK_THAT(message({.scaling = yarn_scaling, .factor = 2, .trained_length = 9, .fast = 1}),
             ContainsSubstring("slow must be positive and below fast, got 1 and 1"));
  CHECK_THAT(message({.attention_factor = 0.0}), ContainsSubstring("attention_factor must be positive"));
}
