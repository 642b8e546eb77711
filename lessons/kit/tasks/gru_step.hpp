// GRU step of lesson 09, built from plain ops, for the lessons that build on it.
#pragma once

#include "core/core.hpp"

namespace tapestry::kit {

/// Weights of reset gate, update gate and candidate state, concatenated along the rows as in nn/.
struct GruWeights {
  Tensor w, u, b_w, b_u;  ///< (3H, in), (3H, H), (3H), (3H)
};

/// Returns the next state (B, H) for the input x (B, in) and the state s (B, H): z ⊙ s + (1 − z) ⊙ n.
inline Tensor gru_step(const Tensor& x, const Tensor& s, const GruWeights& m) {
  const Size width = s.size(1);
  const Tensor from_x = matmul(x, transpose(m.w)) + m.b_w, from_s = matmul(s, transpose(m.u)) + m.b_u;
  const auto third = [&](const Tensor& gates, Size k) { return slice(gates, 1, k * width, (k + 1) * width); };
  const Tensor r = sigmoid(third(from_x, 0) + third(from_s, 0));
  const Tensor z = sigmoid(third(from_x, 1) + third(from_s, 1));
  const Tensor n = tanh(third(from_x, 2) + r * third(from_s, 2));
  return z * s + (1 - z) * n;
}

}  // namespace tapestry::kit
