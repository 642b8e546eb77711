// The layer of lesson 18 by hand, checked against a loop over its heads and against nn/'s.
#pragma once

#include "lessons/kit/kit.hpp"
#include "nn/attention/multi_head.hpp"

namespace tapestry::lesson18 {

/// (B, T, H · d) → (B, H, T, d).
using Split = Tensor (*)(const Tensor& x, Size heads);
/// What a layer computes: queries (B, Tq, width), keys and values, a mask or none → (B, Tq, width).
using Layer = Tensor (*)(const MultiHeadAttention& layer, const Tensor& queries, const Tensor& keys,
                         const Tensor& values, const Mask& mask, Split split);
/// A layer by hand, and how its heads are parted, joined, and parted wrongly.
struct ByHand {
  Layer layer;
  Split split;
  Tensor (*merge)(const Tensor& x);
  Split wrongly;
};

/// Layers with heads of keys of their own and shared ones, d_k = d_v and not, in f64, with padding. A loop
/// over the heads and the layer by hand are gradient-checked and give what nn/'s layer gives; parted wrongly
/// it gives something else.
void check_layers(kit::Report& report, const ByHand& by_hand, std::uint64_t seed);

/// Prints three tokens (1, 3, 4) as two heads get them, rightly and wrongly; returns the tokens.
Tensor print_splits(const ByHand& by_hand, kit::Report& report);

}  // namespace tapestry::lesson18
