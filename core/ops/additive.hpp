// Bahdanau's additive score, fused: no (B, Tq, Tk, units) tensor.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// s[…, i, j] = Σ_u v[u] tanh(query[…, i, u] + key[…, j, u]) (Bahdanau, Cho & Bengio 2015, appendix A.1.2):
/// query (…, Tq, U) and key (…, Tk, U) already projected, v (U) → (…, Tq, Tk). Pairs that the mask (optional;
/// broadcast to the result) excludes are not computed and give 0; what stands at a key that no query may see
/// touches nothing.
Tensor additive_score(const Tensor& query, const Tensor& key, const Tensor& v, const Mask& mask = {},
                      CallSite at = {});

}  // namespace tapestry
