// Bahdanau's additive attention score in one kernel, which never stores a (B, Tq, Tk, U) tensor.
#pragma once

#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Returns s[…, i, j] = Σ_u v[u] tanh(query[…, i, u] + key[…, j, u]) (Bahdanau, Cho & Bengio 2015, appendix A.1.2):
/// query (…, Tq, U) and key (…, Tk, U), both already projected, and v (U) → (…, Tq, Tk). The optional mask broadcasts
/// to the result. Masked pairs get 0 without being computed, so a key that no query sees has no effect. Throws Error
/// for other shapes and for different dtypes.
Tensor additive_score(const Tensor& query, const Tensor& key, const Tensor& v, const Mask& mask = {},
                      CallSite at = {});

}  // namespace tapestry
