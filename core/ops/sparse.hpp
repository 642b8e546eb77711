// Sparse alternatives to softmax: most weights are exactly 0.
#pragma once

#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Projects the scores (…, keys) onto the simplex along the last axis: y_j = max(s_j − τ, 0) with τ such that Σ y = 1
/// (Martins & Astudillo 2016, arXiv 1602.02068, algorithm 1). The optional mask broadcasts to the scores. Masked pairs
/// and scores of −∞ get 0; a row that has nothing else is all 0. If an unmasked score is NaN or +∞, all unmasked pairs
/// of its row become NaN.
Tensor sparsemax(const Tensor& scores, const Mask& mask = {}, CallSite at = {});

/// 1.5-entmax, between softmax and sparsemax: y_j = max(s_j / 2 − τ, 0)² with τ such that Σ y = 1 (Peters, Niculae &
/// Martins 2019, arXiv 1905.05702, algorithm 2). Masks and infinities are treated as in sparsemax().
Tensor entmax15(const Tensor& scores, const Mask& mask = {}, CallSite at = {});

}  // namespace tapestry
