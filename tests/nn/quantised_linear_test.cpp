// The quantised affine layer: against Linear, its bias, its arithmetic, and what it refuses.
#include "nn/quantised_linear.hpp"

#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "tests/catch.hpp"
#include "tests/largest_difference.hpp"
#include "tests/message_of.hpp"

namespace tapestry {
namespace {

using test::largest_difference;

TEST_CASE("QuantisedLinear computes what Linear computes with the dequantised weights") {
  for (const Bias with_bias : {Bias::yes, Bias::no}) {
    Linear layer(64, 21, with_bias);
    layer.initialise(3);
    if (with_bias == Bias::yes) assign(layer.bias, random_normal({21}, 4));
    for (const BlockType type : {BlockType::q8_0, BlockType::q4_0, BlockType::q4_1}) {
      INFO(to_string(type));
      QuantisedLinear quantised = quantise(layer, type);
      CHECK(quantised.bias.defined() == (with_bias == Bias::yes));
      const Tensor x = random_normal({2, 5, 64}, 5);
      const Tensor exact = linear(x, dequantise(quantised.weight), layer.bias);
      const Tensor rounded = quantised(x);
      CHECK(rounded.shape() == Dims{2, 5, 21});
      CHECK(largest_difference(rounded, exact) < 0.05);
      CHECK(largest_difference(rounded, exact) > 1e-5);
      CHECK(largest_difference(layer(x), exact) < (type == BlockType::q8_0 ? 0.05 : 0.6));
      quantised.arithmetic = QuantisedArithmetic::f32;
      CHECK(largest_difference(quantised(x), exact) < 1e-5);
    }
  }
}

TEST_CASE("QuantisedLinear copies the bias and refuses gradients and wrong sizes") {
  Linear layer(32, 3);
  layer.initialise(1);
  assign(layer.bias, Tensor(random_normal({3}, 4)));
  const QuantisedLinear quantised = quantise(layer, BlockType::q4_1);
  const std::vector<double> before = quantised.bias.to_vector();
  CHECK(before == layer.bias.to_vector());
  assign(layer.bias, zeros({3}));
  CHECK(quantised.bias.to_vector() == before);
  CHECK(test::message_of([&] { QuantisedLinear(quantised.weight, zeros({4})); })
            .starts_with(
                "[QuantisedLinear] bias must be (3) in f32 for a weight (3,32), got (4) in f32; pass one "
                "number for each row ("));
  CHECK_THROWS_AS(quantise(Linear(33, 3), BlockType::q8_0), Error);
  const Tensor x = variable(zeros({2, 32}));
  Tape tape;
  CHECK(test::message_of([&] {
          quantised(x);
        }).starts_with("[quantised_matmul] x must not require a gradient, got "));
  CHECK(quantised(x.detach()).shape() == Dims{2, 3});
  CHECK(tape.size() == 0);
}

}  // namespace
}  // namespace tapestry
