// Where a head stands in a memory that is written to: by content, by shift, or both, as in the neural Turing
// machine (Graves, Wayne & Danihelka 2014, arXiv 1410.5401, section 3). A memory M (…, N, W) has N slots,
// rows of W numbers; where a head stands is a row of N weights that sum to 1, so several heads are (…, H, N).
// All is differentiable.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// What heads say of where they want to be. An empty key leaves out the search by content (and then the
/// gate), an empty shift the shift and the sharpening.
struct Addressing {
  /// k (…, H, W): what the slot should hold.
  Tensor key = {};
  /// β (…, H, 1), 0 or more: how clearly the slot most like the key wins.
  Tensor strength = {};
  /// g (…, H, 1) in [0, 1]: 1 goes where the content is, 0 stays where it was; none: 1.
  Tensor gate = {};
  /// s (…, H, 2r + 1), sums to 1: how many slots on, −r … r, the ends joined.
  Tensor shift = {};
  /// γ (…, H, 1), 1 or more: weights to the power of it; none: 1.
  Tensor sharpness = {};
};

/// softmax over slots of β cos(k, M_n): memory (…, N, W), key (…, H, W), strength (…, H, 1) → (…, H, N). A
/// row of zeros is like nothing: its cosine is 0.
Tensor content_weights(const Tensor& memory, const Tensor& key, const Tensor& strength);

/// w'_n = Σ_j s_j w_{n−j}, j = −r … r, over slots in a ring: weights (…, H, N), shift (…, H, 2r + 1).
Tensor shift_weights(const Tensor& weights, const Tensor& shift);

/// w_n^γ / Σ_m w_m^γ: weights (…, H, N), sharpness (…, H, 1). Weights below 10⁻⁸ count as that much, so that
/// no power makes all of a row 0.
Tensor sharpen_weights(const Tensor& weights, const Tensor& sharpness);

/// From where the heads were, `before` (…, H, N), to where they are: content, gate, shift, sharpening, in
/// this order. Throws for shapes that do not fit, a key without strength, an even number of shifts, and more
/// shifts than slots.
Tensor address(const Tensor& memory, const Tensor& before, const Addressing& how);

/// r = Σ_n w_n M_n: weights (…, H, N), memory (…, N, W) → (…, H, W).
Tensor read_memory(const Tensor& memory, const Tensor& weights);

/// M_n ← M_n ⊙ Π_h (1 − w_hn e_h) + Σ_h w_hn a_h: each head erases, then all add: weights (…, H, N), erase
/// (…, H, W) in [0, 1], added (…, H, W).
Tensor write_memory(const Tensor& memory, const Tensor& weights, const Tensor& erase, const Tensor& added);

}  // namespace tapestry
