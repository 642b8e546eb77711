// Channel and spatial attention for image features, without queries. Channel attention computes a gate between 0 and 1
// for each channel, from the whole image; spatial attention computes one for each position, from its neighbourhood.
// Features are multiplied by their gate.
#pragma once

#include "nn/linear.hpp"
#include "nn/vision/windows.hpp"

namespace tapestry {

/// Pooling of a channel over all positions. mean: the mean (Hu, Shen & Sun 2018). mean_and_max: the mean and the
/// maximum (Woo et al. 2018); each goes through the same two layers, and the results are added.
enum class Squeeze { mean, mean_and_max };

/// Channel attention by squeeze and excitation (Hu, Shen & Sun 2018):
///     z = mean of x over all positions       (B, C)
///     gate = sigmoid(W₂ relu(W₁ z + b₁) + b₂)
///     y = gate ⊙ x, the same gate at every position
/// x is (B, positions…, C) with one or more axes of positions: (B, H, W, C) or (B, T, C).
class ChannelAttention : public Module {
 public:
  /// `hidden` is the number of units between W₁ (hidden, C) and W₂ (C, hidden); the paper uses C / 16.
  ChannelAttention(Parent parent, Size channels, Size hidden, Squeeze squeeze = Squeeze::mean);
  ChannelAttention(Size channels, Size hidden, Squeeze squeeze = Squeeze::mean)
      : ChannelAttention(Parent{}, channels, hidden, squeeze) {}

  /// Returns the gate (B, 1…, C), which broadcasts to x. Throws if x has other channels or no positions.
  Tensor gate(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const;

  Linear first, second;

 private:
  Squeeze squeeze_;
};

/// Spatial attention (Woo et al. 2018): gate = sigmoid(convolution of [mean; max] over the channels), one
/// number for each position; y = gate ⊙ x, the same gate for every channel.
class SpatialAttention : public Module {
 public:
  /// `size` is the kernel size of the convolution; must be odd. The paper uses 7.
  explicit SpatialAttention(Parent parent, Size size = 7);
  explicit SpatialAttention(Size size = 7) : SpatialAttention(Parent{}, size) {}

  /// Returns the gate (B, H, W, 1) of x (B, H, W, C). Throws if x has another rank or no channels.
  Tensor gate(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const;

  Convolution convolution;
};

/// CBAM, the convolutional block attention module (Woo et al. 2018): channel, then spatial attention.
class ChannelSpatialAttention : public Module {
 public:
  ChannelSpatialAttention(Parent parent, Size channels, Size hidden, Size size = 7);
  ChannelSpatialAttention(Size channels, Size hidden, Size size = 7)
      : ChannelSpatialAttention(Parent{}, channels, hidden, size) {}

  /// Maps x (B, H, W, C) to the same shape.
  Tensor operator()(const Tensor& x) const { return spatial(channel(x)); }

  ChannelAttention channel;
  SpatialAttention spatial;
};

}  // namespace tapestry
