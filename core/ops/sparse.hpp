// Softmax's sparse kin: weights that are exactly 0 for all keys but a few.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// The point of the simplex that is nearest to the scores: y_j = max(s_j − τ, 0) with τ such that Σ y = 1
/// (Martins & Astudillo 2016, arXiv 1602.02068, algorithm 1), over the last axis. Pairs outside the mask
/// (optional; broadcasts to the scores) and scores of −∞ get 0; a row with nothing left is all 0, one with a
/// NaN or +∞ is NaN where the mask allows it.
Tensor sparsemax(const Tensor& scores, const Mask& mask = {}, CallSite at = {});

/// Half way between softmax and sparsemax: y_j = max(s_j / 2 − τ, 0)² with Σ y = 1 (Peters, Niculae & Martins
/// 2019, arXiv 1905.05702, algorithm 2). Masks as above.
Tensor entmax15(const Tensor& scores, const Mask& mask = {}, CallSite at = {});

}  // namespace tapestry
