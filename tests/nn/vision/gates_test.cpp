// Attention over channels and places, against loops from the papers' formulas.
#include "nn/vision/gates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/on_paper.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;
using testing::apart;
using testing::f64;
using testing::Row;
using testing::sigmoid_of;

namespace {

/// W₂ relu(W₁ z + b₁) + b₂
Row excite(const ChannelAttention& layer, const Row& z) {
  const auto affine = [](const Linear& l, const Row& in) {
    Row out;
    for (Size i = 0; i < l.weight.size(0); ++i) {
      double sum = l.bias.at({i});
      for (Size j = 0; j < l.weight.size(1); ++j)
        sum += l.weight.at({i, j}) * in[static_cast<std::size_t>(j)];
      out.push_back(sum);
    }
    return out;
  };
  Row hidden = affine(layer.first, z);
  for (double& h : hidden) h = std::max(h, 0.0);
  return affine(layer.second, hidden);
}

/// The gates of each channel of one picture (H, W, C).
Row channel_gate(const ChannelAttention& layer, const Tensor& x, Squeeze squeeze) {
  Row mean(static_cast<std::size_t>(x.size(2)), 0.0),
      most(mean.size(), -std::numeric_limits<double>::infinity());
  for (Size r = 0; r < x.size(0); ++r)
    for (Size c = 0; c < x.size(1); ++c)
      for (std::size_t k = 0; k < mean.size(); ++k) {
        const double value = x.at({r, c, static_cast<Size>(k)});
        mean[k] += value / static_cast<double>(x.size(0) * x.size(1));
        most[k] = std::max(most[k], value);
      }
  Row gate = excite(layer, mean);
  if (squeeze == Squeeze::mean_and_max) {
    const Row more = excite(layer, most);
    for (std::size_t k = 0; k < gate.size(); ++k) gate[k] += more[k];
  }
  for (double& g : gate) g = sigmoid_of(g);
  return gate;
}

/// The gate of each place of one picture (H, W, C), row after row.
Row spatial_gate(const SpatialAttention& layer, const Tensor& x, Size size) {
  const Tensor weight = reshape(layer.convolution.linear.weight, {size, size, 2});
  Row gate;
  for (Size r = 0; r < x.size(0); ++r)
    for (Size c = 0; c < x.size(1); ++c) {
      double sum = layer.convolution.linear.bias.item();
      for (Size i = 0; i < size; ++i)
        for (Size j = 0; j < size; ++j) {
          const Size row = r + i - size / 2, column = c + j - size / 2;
          if (row < 0 || column < 0 || row >= x.size(0) || column >= x.size(1)) continue;
          double mean = 0, most = -std::numeric_limits<double>::infinity();
          for (Size k = 0; k < x.size(2); ++k) {
            mean += x.at({row, column, k}) / static_cast<double>(x.size(2));
            most = std::max(most, x.at({row, column, k}));
          }
          sum += weight.at({i, j, 0}) * mean + weight.at({i, j, 1}) * most;
        }
      gate.push_back(sigmoid_of(sum));
    }
  return gate;
}

}  // namespace

TEST_CASE("channel attention is squeeze and excite, by the mean and by mean and maximum", "[vision]") {
  const Tensor x = random_normal({2, 3, 4, 5}, 1, f64);
  for (const Squeeze squeeze : {Squeeze::mean, Squeeze::mean_and_max}) {
    ChannelAttention layer(5, 3, squeeze);
    layer.initialise(2, f64);
    layer.load_state({{"first.weight", layer.first.weight},
                      {"first.bias", random_normal({3}, 3, f64)},
                      {"second.weight", layer.second.weight},
                      {"second.bias", random_normal({5}, 4, f64)}});
    const Tensor gate = layer.gate(x), y = layer(x);
    REQUIRE(to_string(gate.shape()) == "(2,1,1,5)");
    for (Size b = 0; b < 2; ++b) {
      const Row wanted = channel_gate(layer, select(x, 0, b), squeeze);
      for (Size k = 0; k < 5; ++k) {
        CHECK(std::abs(gate.at({b, 0, 0, k}) - wanted[static_cast<std::size_t>(k)]) < 1e-14);
        CHECK(std::abs(y.at({b, 2, 1, k}) - wanted[static_cast<std::size_t>(k)] * x.at({b, 2, 1, k})) <
              1e-14);
      }
    }
    CHECK_GRADIENTS([&](const Tensor& p) { return layer(p); }, {x}, layer.parameters());
    // Places in one axis are the same places.
    CHECK(apart(reshape(layer(reshape(x, {2, 12, 5})), {2, 3, 4, 5}), y) < 1e-15);
  }
}

TEST_CASE("spatial attention is a convolution of mean and maximum over channels", "[vision]") {
  const Tensor x = random_normal({2, 4, 3, 5}, 5, f64);
  for (const Size size : {1, 3, 7}) {
    CAPTURE(size);
    SpatialAttention layer(size);
    layer.initialise(6, f64);
    layer.load_state(
        {{"convolution.weight", layer.convolution.linear.weight}, {"convolution.bias", tensor({0.3}, f64)}});
    const Tensor gate = layer.gate(x), y = layer(x);
    REQUIRE(to_string(gate.shape()) == "(2,4,3,1)");
    for (Size b = 0; b < 2; ++b) {
      const Row wanted = spatial_gate(layer, select(x, 0, b), size);
      CHECK(apart(reshape(select(gate, 0, b), {12}), tensor(wanted, {12}, f64)) < 1e-14);
      CHECK(std::abs(y.at({b, 1, 2, 3}) - wanted[5] * x.at({b, 1, 2, 3})) < 1e-14);
    }
    CHECK_GRADIENTS([&](const Tensor& p) { return layer(p); }, {x}, layer.parameters());
  }
}

TEST_CASE("both: channels first, and places from what is left of them", "[vision]") {
  const Tensor x = random_normal({2, 3, 3, 4}, 7, f64);
  ChannelSpatialAttention layer(4, 2, 3);
  layer.initialise(8, f64);
  const Tensor y = layer(x);
  for (Size b = 0; b < 2; ++b) {
    const Row channel = channel_gate(layer.channel, select(x, 0, b), Squeeze::mean_and_max);
    const Tensor gated = select(x, 0, b) * tensor(channel, {4}, f64);
    const Tensor place = tensor(spatial_gate(layer.spatial, gated, 3), {3, 3, 1}, f64);
    CHECK(apart(select(y, 0, b), gated * place) < 1e-14);
  }
  CHECK_GRADIENTS([&](const Tensor& p) { return layer(p); }, {x}, layer.parameters());
}

TEST_CASE("one picture's gates do not depend on its neighbours in the batch", "[vision]") {
  const Tensor x = random_normal({3, 4, 4, 4}, 9, f64), alone = slice(x, 0, 1, 2);
  ChannelSpatialAttention layer(4, 2, 3);
  layer.initialise(10, f64);
  CHECK(apart(slice(layer(x), 0, 1, 2), layer(alone)) < 1e-15);
  CHECK(layer(slice(x, 0, 0, 0)).count() == 0);
  // Nor on how the picture lies in memory.
  const Tensor turned = permute(contiguous(permute(x, {0, 3, 1, 2})), {0, 2, 3, 1});
  CHECK(apart(layer(turned), layer(x)) < 1e-15);
}

TEST_CASE("gates refuse what is no picture of their channels", "[vision]") {
  ChannelAttention channel(4, 2);
  SpatialAttention spatial(3);
  channel.initialise(1), spatial.initialise(1);
  CHECK_THAT(message_of([&] { channel(zeros({2, 3, 3, 5})); }), ContainsSubstring("(B, positions…, 4)"));
  CHECK_THAT(message_of([&] { channel(zeros({2, 4})); }), ContainsSubstring("(B, positions…, 4)"));
  CHECK_THAT(message_of([&] { channel(zeros({2, 0, 3, 4})); }), ContainsSubstring("1 position"));
  CHECK_THAT(message_of([&] { spatial(zeros({3, 3, 4})); }), ContainsSubstring("shape (B, H, W, C)"));
  CHECK_THAT(message_of([&] { spatial(zeros({2, 3, 3, 0})); }), ContainsSubstring("shape (B, H, W, C)"));
  CHECK_THAT(message_of([] { SpatialAttention(4); }), ContainsSubstring("must be odd"));
}
