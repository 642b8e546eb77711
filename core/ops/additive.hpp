// Bahdanau's additive attention score, fused: it never stores a (B, Tq, Tk, U) tensor.
#pragma once

#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// s[…, i, j] = Σ_u v[u] tanh(query[…, i, u] + key[…, j, u]) (Bahdanau, Cho & Bengio 2015, appendix A.1.2):
/// projected query (…, Tq, U) and key (…, Tk, U), v (U) → (…, Tq, Tk). Masked pairs are not computed and give 0,
/// so the values of a fully masked key have no effect. The mask is optional and broadcasts to the result.
/// Throws Error for other shapes and for dtypes that differ.
Tensor additive_score(const Tensor& query, const Tensor& key, const Tensor& v, const Mask& mask = {},
                      CallSite at = {});

}  // namespace tapestry
