// Images as sequences: patches, sliding windows, and convolution. Channels are last: an image is (H, W, C), a
// batch of images (B, H, W, C).
#pragma once

#include "core/tensor/tensor.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// Splits an image into patches of `size` × `size` pixels, the tokens of a vision transformer (Dosovitskiy et
/// al. 2021): (H, W, C) → (H / size, W / size, size · size · C), and with a batch (B, H, W, C) → (B, …). A
/// patch is stored row by row with the channels of a pixel adjacent: patch (0, 0) begins with pixels (0, 0),
/// (0, 1), … Throws if `size` does not divide H and W.
Tensor patches(const Tensor& x, Size size, CallSite at = {});

/// Returns all windows of `size` × `size` pixels at intervals of `stride`: (H, W, C) → (H', W', size · size ·
/// C) with H' = ⌊(H − size) / stride⌋ + 1, or the same with a batch. Pixels at the right and lower edges that
/// do not fill a window are ignored. The layout is that of patches(), which equals stride = size. A linear
/// layer applied to windows is a convolution (im2col; Chellapilla, Puri & Simard 2006). A pixel in several
/// windows gets the sum of their gradients. Throws if the image is smaller than a window, or if `size` or
/// `stride` is below 1.
Tensor windows(const Tensor& x, Size size, Size stride = 1, CallSite at = {});

/// A convolution with zero padding that keeps the size of the image: (B, H, W, in) → (B, H, W, out). Throws
/// if x has another rank or number of channels.
class Convolution : public Module {
 public:
  /// `size` must be odd, so that a window has a centre.
  Convolution(Parent parent, Size in, Size out, Size size, Bias with_bias = Bias::yes);
  Convolution(Size in, Size out, Size size, Bias with_bias = Bias::yes)
      : Convolution(Parent{}, in, out, size, with_bias) {}

  Tensor operator()(const Tensor& x, CallSite at = {}) const;

  /// Linear layer with weight (out, size · size · in), in the layout of windows(). It equals PyTorch's weight
  /// (out, in, row, column) with its axes permuted to 0, 2, 3, 1 and the last three flattened.
  Linear linear;

 private:
  Size in_, size_;
};

}  // namespace tapestry
