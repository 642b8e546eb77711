// Checks of lesson 18's layer by hand, compared with a loop over its heads and with nn/'s layer.
#pragma once

#include "lessons/kit/kit.hpp"
#include "nn/attention/multi_head.hpp"

namespace tapestry::lesson18 {

/// Splits (B, T, H · d) into heads, (B, H, T, d).
using Split = Tensor (*)(const Tensor& x, Size heads);
/// Computes a layer: queries (B, Tq, width), keys, values and an optional mask → (B, Tq, width).
using Layer = Tensor (*)(const MultiHeadAttention& layer, const Tensor& queries, const Tensor& keys,
                         const Tensor& values, const Mask& mask, Split split);
/// A layer by hand, with functions that split its heads, merge them, and split them wrongly.
struct ByHand {
  Layer layer;
  Split split;
  Tensor (*merge)(const Tensor& x);
  Split wrongly;
};

/// Checks layers with unshared and with shared heads of keys, with d_k = d_v and d_k ≠ d_v, in f64, with
/// padding. A loop over the heads and the layer by hand are gradient-checked and must agree with nn/'s layer.
/// The layer with the wrong split must give another result.
void check_layers(kit::Report& report, const ByHand& by_hand, std::uint64_t seed);

/// Prints three tokens (1, 3, 4) as two heads get them from the right split and from the wrong one. Returns the
/// tokens.
Tensor print_splits(const ByHand& by_hand, kit::Report& report);

}  // namespace tapestry::lesson18
