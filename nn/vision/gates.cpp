#include "nn/vision/gates.hpp"

#include <utility>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"

namespace tapestry {

ChannelAttention::ChannelAttention(Parent parent, Size channels, Size hidden, Squeeze squeeze)
    : Module(std::move(parent)),
      first{{*this, "first"}, channels, hidden},
      second{{*this, "second"}, hidden, channels},
      squeeze_(squeeze) {}

Tensor ChannelAttention::gate(const Tensor& x) const {
  const Size channels = first.weight.size(1);
  if (x.rank() < 3 || x.size(-1) != channels)
    fail("[channel_attention{}] x {} must have shape (B, positions…, {})", in_quotes(), describe(x),
         channels);
  Dims places;
  for (int axis = 1; axis < x.rank() - 1; ++axis) {
    if (x.size(axis) == 0)
      fail("[channel_attention{}] x {} must have at least 1 position", in_quotes(), describe(x));
    places.push_back(axis);
  }
  const auto excite = [&](const Tensor& z) { return second(relu(first(z))); };
  const Tensor by_mean = excite(mean(x, places, Keep::yes));
  return sigmoid(squeeze_ == Squeeze::mean ? by_mean : by_mean + excite(max(x, places, Keep::yes)));
}

Tensor ChannelAttention::operator()(const Tensor& x) const { return x * gate(x); }

SpatialAttention::SpatialAttention(Parent parent, Size size)
    : Module(std::move(parent)), convolution{{*this, "convolution"}, 2, 1, size} {}

Tensor SpatialAttention::gate(const Tensor& x) const {
  if (x.rank() != 4 || x.size(-1) == 0)
    fail("[spatial_attention{}] x {} must have shape (B, H, W, C) with at least 1 channel", in_quotes(),
         describe(x));
  return sigmoid(convolution(concat({mean(x, {-1}, Keep::yes), max(x, {-1}, Keep::yes)}, -1)));
}

Tensor SpatialAttention::operator()(const Tensor& x) const { return x * gate(x); }

ChannelSpatialAttention::ChannelSpatialAttention(Parent parent, Size channels, Size hidden, Size size)
    : Module(std::move(parent)),
      channel{{*this, "channel"}, channels, hidden, Squeeze::mean_and_max},
      spatial{{*this, "spatial"}, size} {}

}  // namespace tapestry
