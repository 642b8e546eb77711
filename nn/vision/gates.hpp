// Attention over channels and over places of a picture's features, without a query: each channel, or each
// place, is multiplied by a number between 0 and 1 that is computed from the whole picture, or from its
// neighbourhood.
#pragma once

#include "nn/linear.hpp"
#include "nn/vision/windows.hpp"

namespace tapestry {

/// How a channel is summed up over all places: by its mean (Hu, Shen & Sun 2018), or by its mean and by its
/// largest value, each through the same two layers, whose answers are added up (Woo et al. 2018).
enum class Squeeze { mean, mean_and_max };

/// Squeeze and excite (Hu, Shen & Sun 2018): which channels count in this picture.
///     z = mean of x over all places          (B, C)
///     gate = sigmoid(W₂ relu(W₁ z + b₁) + b₂)
///     y = gate ⊙ x, the same gate at every place
/// x is (B, places…, C) with one axis of places or more: (B, H, W, C) or (B, T, C).
class ChannelAttention : public Module {
 public:
  /// `hidden`: units between W₁ (hidden, C) and W₂ (C, hidden); the paper takes C / 16.
  ChannelAttention(Parent parent, Size channels, Size hidden, Squeeze squeeze = Squeeze::mean);
  ChannelAttention(Size channels, Size hidden, Squeeze squeeze = Squeeze::mean)
      : ChannelAttention(Parent{}, channels, hidden, squeeze) {}

  /// (B, 1…, C): broadcasts to x. Throws where x has other channels, or no place.
  Tensor gate(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const;

  Linear first, second;

 private:
  Squeeze squeeze_;
};

/// Which places count (Woo et al. 2018): gate = sigmoid(convolution of [mean; max] over the channels), a
/// number for each place; y = gate ⊙ x, the same gate for every channel.
class SpatialAttention : public Module {
 public:
  /// `size` of the convolution's window, odd; the paper takes 7.
  explicit SpatialAttention(Parent parent, Size size = 7);
  explicit SpatialAttention(Size size = 7) : SpatialAttention(Parent{}, size) {}

  /// x (B, H, W, C) → (B, H, W, 1)
  Tensor gate(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const;

  Convolution convolution;
};

/// Both, channels first: CBAM, the convolutional block attention module (Woo et al. 2018).
class ChannelSpatialAttention : public Module {
 public:
  ChannelSpatialAttention(Parent parent, Size channels, Size hidden, Size size = 7);
  ChannelSpatialAttention(Size channels, Size hidden, Size size = 7)
      : ChannelSpatialAttention(Parent{}, channels, hidden, size) {}

  /// x (B, H, W, C) → the same shape.
  Tensor operator()(const Tensor& x) const { return spatial(channel(x)); }

  ChannelAttention channel;
  SpatialAttention spatial;
};

}  // namespace tapestry
