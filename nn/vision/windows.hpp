// Images as sequences: patches, sliding windows, and convolution. Channels are last: an image is (H, W, C), a
// batch of images (B, H, W, C).
#pragma once

#include "core/tensor/tensor.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// Splits an image into patches of `size` × `size` pixels, the tokens of a vision transformer (Dosovitskiy et al.
/// 2021): (H, W, C) → (H / size, W / size, size · size · C). A batch axis may come first. A patch is stored row by row
/// with the channels of a pixel adjacent: patch (0, 0) begins with pixels (0, 0), (0, 1), … Throws if `size` does not
/// divide H and W.
Tensor patches(const Tensor& x, Size size, CallSite at = {});

/// Returns all windows of `size` × `size` pixels at intervals of `stride`: (H, W, C) → (H', W', size · size · C) with
/// H' = ⌊(H − size) / stride⌋ + 1. A batch axis may come first. Pixels at the right and lower edges that do not fill a
/// window are ignored. A window has the layout of a patch: with stride = size, the windows are the patches. A linear
/// layer applied to windows is a convolution (im2col; Chellapilla, Puri & Simard 2006). A pixel in several windows gets
/// the sum of their gradients. Throws if the image is smaller than a window, or if `size` or `stride` is below 1.
Tensor windows(const Tensor& x, Size size, Size stride = 1, CallSite at = {});

/// Options of Convolution, with the names of PyTorch's Conv2d.
struct ConvolutionOptions {
  /// Interval of the windows: the result has ⌈H / stride⌉ rows and ⌈W / stride⌉ columns.
  Size stride = 1;
  /// Number of groups of adjacent channels. Each group of outputs reads one group of inputs; `groups` = `in` filters
  /// each channel separately (a depthwise convolution).
  Size groups = 1;
};

/// A convolution with ⌊size / 2⌋ zeros on every side: (B, H, W, in) → (B, ⌈H / stride⌉, ⌈W / stride⌉, out). Throws if
/// x has another rank or number of channels.
class Convolution : public Module {
 public:
  /// `size` must be odd, so that a window has a centre; `groups` must divide `in` and `out`.
  Convolution(Parent parent, Size in, Size out, Size size, Bias with_bias = Bias::yes,
              const ConvolutionOptions& options = {});
  Convolution(Size in, Size out, Size size, Bias with_bias = Bias::yes,
              const ConvolutionOptions& options = {})
      : Convolution(Parent{}, in, out, size, with_bias, options) {}

  Tensor operator()(const Tensor& x, CallSite at = {}) const;

  /// Linear layer with weight (out, size · size · in / groups), in the layout of windows(). It equals PyTorch's weight
  /// (out, in / groups, row, column) with its axes permuted to 0, 2, 3, 1 and the last three flattened.
  Linear linear;

 private:
  Tensor by_groups(const Tensor& seen, CallSite at) const;

  Size in_, size_;
  ConvolutionOptions options_;
};

}  // namespace tapestry
