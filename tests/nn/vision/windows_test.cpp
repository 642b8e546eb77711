// Patches, windows and convolutions, against loops over pixels.
#include "nn/vision/windows.hpp"

#include <string>
#include <vector>

#include "core/core.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;
using testing::apart;
using testing::equal_bits;
using testing::f64;

namespace {

/// Windows of a batch (B, H, W, C), number by number.
Tensor windows_by_loops(const Tensor& x, Size size, Size stride) {
  const Size rows = (x.size(1) - size) / stride + 1, columns = (x.size(2) - size) / stride + 1;
  std::vector<double> all;
  for (Size b = 0; b < x.size(0); ++b)
    for (Size r = 0; r < rows; ++r)
      for (Size c = 0; c < columns; ++c)
        for (Size i = 0; i < size; ++i)
          for (Size j = 0; j < size; ++j)
            for (Size k = 0; k < x.size(3); ++k) all.push_back(x.at({b, r * stride + i, c * stride + j, k}));
  return tensor(all, {x.size(0), rows, columns, size * size * x.size(3)}, x.dtype());
}

/// A convolution with zeros around, for weights (out, row, column, in / groups).
Tensor convolved_by_loops(const Tensor& x, const Tensor& weight, const std::vector<double>& bias, Size size,
                          const ConvolutionOptions& options = {}) {
  const Size height = x.size(1), width = x.size(2), edge = size / 2, outs = weight.size(0);
  const Size rows = (height + options.stride - 1) / options.stride,
             columns = (width + options.stride - 1) / options.stride;
  std::vector<double> all;
  for (Size b = 0; b < x.size(0); ++b)
    for (Size r = 0; r < rows; ++r)
      for (Size c = 0; c < columns; ++c)
        for (Size out = 0; out < outs; ++out) {
          double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(out)];
          const Size first = out / (outs / options.groups) * weight.size(3);  // channel of the group
          for (Size i = 0; i < size; ++i)
            for (Size j = 0; j < size; ++j) {
              const Size row = r * options.stride + i - edge, column = c * options.stride + j - edge;
              if (row < 0 || column < 0 || row >= height || column >= width) continue;
              for (Size k = 0; k < weight.size(3); ++k)
                sum += weight.at({out, i, j, k}) * x.at({b, row, column, first + k});
            }
          all.push_back(sum);
        }
  return tensor(all, {x.size(0), rows, columns, outs}, x.dtype());
}

}  // namespace

TEST_CASE("patches and windows hold the pixels that loops find", "[vision]") {
  const Tensor x = random_normal({2, 6, 9, 3}, 1, f64);
  CHECK(equal_bits(patches(x, 3), windows_by_loops(x, 3, 3)));
  CHECK(equal_bits(patches(x, 1), x));
  for (const Size size : {1, 2, 3, 6})
    for (const Size stride : {1, 2, 3, 4, 7}) {
      CAPTURE(size, stride);
      CHECK(equal_bits(windows(x, size, stride), windows_by_loops(x, size, stride)));
    }
  // f32, one channel, and a picture as large as its window.
  const Tensor grey = random_normal({1, 4, 4, 1}, 2);
  CHECK(equal_bits(windows(grey, 4), windows_by_loops(grey, 4, 1)));
  CHECK(equal_bits(patches(grey, 4), windows_by_loops(grey, 4, 4)));
}

TEST_CASE("a picture alone has the patches that it has in a batch", "[vision]") {
  const Tensor x = random_normal({3, 4, 6, 2}, 3, f64), one = select(x, 0, 1);
  CHECK(equal_bits(patches(one, 2), select(patches(x, 2), 0, 1)));
  CHECK(equal_bits(windows(one, 3, 2), select(windows(x, 3, 2), 0, 1)));
}

TEST_CASE("pictures in another order in memory have the same patches", "[vision]") {
  const Tensor channels_first = random_normal({2, 3, 4, 6}, 4, f64),
               x = permute(channels_first, {0, 2, 3, 1});
  CHECK(equal_bits(patches(x, 2), windows_by_loops(x, 2, 2)));
  CHECK(equal_bits(windows(x, 3, 1), windows_by_loops(x, 3, 1)));
}

TEST_CASE("no pictures, and pictures without channels, have no numbers in their patches", "[vision]") {
  CHECK(to_string(patches(zeros({0, 4, 4, 3}), 2).shape()) == "(0,2,2,12)");
  CHECK(to_string(windows(zeros({0, 4, 4, 3}), 3).shape()) == "(0,2,2,27)");
  CHECK(to_string(windows(zeros({2, 4, 4, 0}), 3).shape()) == "(2,2,2,0)");
}

TEST_CASE("a pixel in several windows gets the sum of their gradients", "[vision]") {
  const GradcheckInputs x = {random_normal({2, 5, 4, 2}, 5, f64)};
  CHECK_GRADIENTS([](const Tensor& p) { return windows(p, 3, 1); }, x);
  CHECK_GRADIENTS([](const Tensor& p) { return windows(p, 2, 2); }, x);
  CHECK_GRADIENTS([](const Tensor& p) { return patches(p, 2); }, {random_normal({2, 4, 6, 2}, 6, f64)});
  // How many windows each pixel of a line of five lies in: 1, 2, 3, 2, 1, both ways.
  const Tensor line = variable(zeros({5, 5, 1}, f64));
  Tape tape;
  tape.backward(sum(windows(line, 3)));
  CHECK(select(squeeze(line.grad(), 2), 0, 2).to_vector() == std::vector<double>{3, 6, 9, 6, 3});
}

TEST_CASE("a convolution is what loops say, edges included", "[vision]") {
  for (const Size size : {1, 3, 5}) {
    CAPTURE(size);
    Convolution layer(2, 3, size);
    layer.initialise(7, f64);
    layer.load_state(
        {{"weight", random_normal({3, size * size * 2}, 8, f64)}, {"bias", random_normal({3}, 9, f64)}});
    const Tensor x = random_normal({2, 4, 3, 2}, 10, f64),
                 weight = reshape(layer.linear.weight, {3, size, size, 2});
    CHECK(apart(layer(x), convolved_by_loops(x, weight, layer.linear.bias.to_vector(), size)) < 1e-12);
    CHECK_GRADIENTS([&](const Tensor& p) { return layer(p); }, {x}, layer.parameters());
  }
  Convolution plain(2, 3, 3, Bias::no);
  plain.initialise(1);
  CHECK(plain.parameters().size() == 1);
  CHECK(to_string(plain(zeros({0, 4, 4, 2})).shape()) == "(0,4,4,3)");
}

TEST_CASE("a convolution with strides and groups is what loops say", "[vision]") {
  struct Case {
    Size in, out, size, height, width;
    ConvolutionOptions options;
  };
  for (const auto& [in, out, size, height, width, options] :
       {Case{4, 6, 3, 5, 4, {.stride = 2}}, Case{4, 6, 3, 5, 4, {.groups = 2}},
        Case{4, 4, 3, 4, 5, {.stride = 3, .groups = 4}}, Case{3, 6, 1, 2, 3, {.stride = 2, .groups = 3}},
        Case{2, 2, 5, 1, 1, {.stride = 4, .groups = 2}}, Case{6, 3, 3, 33, 40, {.stride = 2, .groups = 3}}}) {
    CAPTURE(in, out, size, height, width, options.stride, options.groups);
    for (const Bias bias : {Bias::yes, Bias::no}) {
      Convolution layer(in, out, size, bias, options);
      layer.initialise(7, f64);
      State state{{"weight", random_normal({out, size * size * in / options.groups}, 8, f64)}};
      if (bias == Bias::yes) state["bias"] = random_normal({out}, 9, f64);
      layer.load_state(state);
      // Channels first in memory.
      const Tensor x = permute(random_normal({2, in, height, width}, 10, f64), {0, 2, 3, 1}),
                   weight = reshape(layer.linear.weight, {out, size, size, in / options.groups});
      const std::vector<double> added =
          bias == Bias::yes ? layer.linear.bias.to_vector() : std::vector<double>{};
      CHECK(apart(layer(x), convolved_by_loops(x, weight, added, size, options)) < 1e-12);
      if (height < 10) CHECK_GRADIENTS([&](const Tensor& p) { return layer(p); }, {x}, layer.parameters());
    }
  }
  Convolution layer(4, 2, 3, Bias::yes, {.stride = 2, .groups = 2});
  layer.initialise(1);
  CHECK(to_string(layer(zeros({0, 5, 4, 4})).shape()) == "(0,3,2,2)");
  CHECK_THAT(message_of([] { Convolution(4, 6, 3, Bias::yes, {.groups = 4}); }),
             ContainsSubstring("groups (4) must be at least 1 and divide the 4 input and 6 output channels"));
  CHECK_THAT(message_of([] { Convolution(4, 6, 3, Bias::yes, {.groups = 0}); }),
             ContainsSubstring("groups (0)"));
  CHECK_THAT(message_of([] { Convolution(4, 6, 3, Bias::yes, {.stride = 0}); }),
             ContainsSubstring("stride must be at least 1, got 0"));
}

TEST_CASE("what is no picture, or does not fit, is refused in a sentence", "[vision]") {
  CHECK_THAT(message_of([] { patches(zeros({4, 4}), 2); }), ContainsSubstring("image (H, W, C)"));
  CHECK_THAT(message_of([] { windows(zeros({1, 1, 4, 4, 1}), 2); }), ContainsSubstring("image (H, W, C)"));
  CHECK_THAT(message_of([] { patches(zeros({4, 6, 1}), 4); }), ContainsSubstring("multiples of 4"));
  CHECK_THAT(message_of([] { patches(zeros({6, 4, 1}), 4); }), ContainsSubstring("multiples of 4"));
  CHECK_THAT(message_of([] { patches(zeros({4, 4, 1}), 0); }), ContainsSubstring("at least 1"));
  CHECK_THAT(message_of([] { windows(zeros({4, 4, 1}), 2, 0); }), ContainsSubstring("at least 1"));
  CHECK_THAT(message_of([] {
               windows(zeros({4, 4, 1}), 5);
             }),
             ContainsSubstring("as large as a window of 5"));
  CHECK_THAT(message_of([] {
               windows(zeros({5, 4, 1}), 5);
             }),
             ContainsSubstring("as large as a window of 5"));
  CHECK_THAT(message_of([] { Convolution(1, 1, 4); }), ContainsSubstring("must be odd"));
  Convolution layer(2, 3, 3);
  layer.initialise(1);
  CHECK_THAT(message_of([&] { layer(zeros({1, 4, 4, 3})); }), ContainsSubstring("shape (B, H, W, 2)"));
  CHECK_THAT(message_of([&] { layer(zeros({4, 4, 2})); }), ContainsSubstring("shape (B, H, W, 2)"));
}
