// Addressing of a writable memory by content, by shift, or both, as in the neural Turing machine (Graves,
// Wayne & Danihelka 2014, arXiv 1410.5401, section 3). A memory M (…, N, W) has N slots of W numbers. A head
// is a row of N weights over the slots, with sum 1; H heads are (…, H, N). All functions are differentiable.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Parameters that move the heads. Without a key, the content lookup and the gate are skipped; without a
/// shift, the shift and the sharpening.
struct Addressing {
  /// k (…, H, W): the content to search for.
  Tensor key = {};
  /// β (…, H, 1), at least 0: factor of the cosines. A larger β favours the most similar slot.
  Tensor strength = {};
  /// g (…, H, 1) in [0, 1]: 1 takes the content weights, 0 keeps the previous weights. Undefined: 1.
  Tensor gate = {};
  /// s (…, H, 2r + 1), sums to 1: weights of the shifts −r … r, over slots in a ring.
  Tensor shift = {};
  /// γ (…, H, 1), at least 1: exponent of the weights. Undefined: 1.
  Tensor sharpness = {};
};

/// Returns the softmax over slots of β cos(k, M_n): memory (…, N, W), key (…, H, W), strength (…, H, 1) → (…, H, N).
/// Here cos(x, y) is x/√(Σx² + 10⁻⁸) · y/√(Σy² + 10⁻⁸): the cosine with a row of zeros is 0, and a row shorter than
/// about 10⁻³ has a smaller cosine than by the usual definition. The gradient at a row of zeros is 10⁴ times the unit
/// vector of the other row.
Tensor content_weights(const Tensor& memory, const Tensor& key, const Tensor& strength);

/// Returns w'_n = Σ_j s_j w_{n−j}, j = −r … r, over slots in a ring: weights (…, H, N), shift (…, H, 2r + 1).
Tensor shift_weights(const Tensor& weights, const Tensor& shift);

/// Returns (w_n + 10⁻⁸)^γ / Σ_m (w_m + 10⁻⁸)^γ: weights (…, H, N), sharpness (…, H, 1). The paper has w_n^γ / Σ_m
/// w_m^γ; the 10⁻⁸ keeps the logarithm of a weight of 0 and its derivative finite.
Tensor sharpen_weights(const Tensor& weights, const Tensor& sharpness);

/// Moves heads from the weights `before` (…, H, N) by content, gate, shift and sharpening, in this order, and
/// returns their new weights. Throws if shapes do not match, a key has no strength, or the number of shifts
/// is even or above the number of slots.
Tensor address(const Tensor& memory, const Tensor& before, const Addressing& how);

/// Returns r = Σ_n w_n M_n: weights (…, H, N), memory (…, N, W) → (…, H, W).
Tensor read_memory(const Tensor& memory, const Tensor& weights);

/// Returns M_n ⊙ Π_h (1 − w_hn e_h) + Σ_h w_hn a_h: every head erases, then every head adds. memory
/// (…, N, W), weights (…, H, N), erase (…, H, W) in [0, 1], added (…, H, W).
Tensor write_memory(const Tensor& memory, const Tensor& weights, const Tensor& erase, const Tensor& added);

}  // namespace tapestry
