// Pictures as sequences: cut into patches, or seen through a window that slides. Channels come last: a
// picture is (H, W, C), a batch of them (B, H, W, C).
#pragma once

#include "core/tensor/tensor.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// Squares of `size` × `size` pixels that lie side by side: (H, W, C) → (H / size, W / size, size · size ·
/// C), and with a batch (B, H, W, C) → (B, …). The numbers of a patch stand row after row, the channels of a
/// pixel side by side, so patch (0, 0) begins with pixels (0, 0), (0, 1), …: what a vision transformer calls
/// its words (Dosovitskiy et al. 2021). Throws where `size` does not divide H and W.
Tensor patches(const Tensor& x, Size size, CallSite at = {});

/// Windows of `size` × `size` pixels whose first corners are `stride` apart: (H, W, C) → (H', W', size · size
/// · C) with H' = (H − size) / stride + 1, rounded down; or with a batch. What does not fill a window at the
/// right and lower edges is not read. The numbers stand as in patches(), which is what stride = size gives. A
/// linear layer of windows is a convolution; that form is known as im2col (Chellapilla, Puri & Simard 2006).
/// Pixels that lie in several windows get the sum of their gradients. Throws where the picture is smaller
/// than a window.
Tensor windows(const Tensor& x, Size size, Size stride = 1, CallSite at = {});

/// A convolution that keeps the picture's size: (B, H, W, in) → (B, H, W, out), with zeros around the
/// picture.
class Convolution : public Module {
 public:
  /// `size` is odd, so that a window has a middle.
  Convolution(Parent parent, Size in, Size out, Size size, Bias with_bias = Bias::yes);
  Convolution(Size in, Size out, Size size, Bias with_bias = Bias::yes)
      : Convolution(Parent{}, in, out, size, with_bias) {}

  Tensor operator()(const Tensor& x, CallSite at = {}) const;

  /// weight (out, size · size · in), in the order of windows(): PyTorch's (out, in, row, column) with its
  /// axes in the order 0, 2, 3, 1, and the last three as one.
  Linear linear;

 private:
  Size in_, size_;
};

}  // namespace tapestry
