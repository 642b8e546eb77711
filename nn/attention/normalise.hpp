// Normalisers: how scores become weights. To add one: a function of this form, declared here and defined in
// normalise.cpp; and a row in tests/nn/attention/normalise_test.cpp, which tests its formula, gradient and mask.
// Any but softmax takes the plain ops in place of tiles. One with parameters of its own is a Score's business.
#pragma once

#include <functional>

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// Turns scores (…, Tq, Tk) into weights over the last axis. The mask, if there is one, broadcasts to the
/// scores; pairs outside it get exactly 0 and no gradient, whatever their score, and a row with nothing to
/// attend to is all 0. Masked scores must not enter a sum either: zero_masked(mask, …) of masking.hpp before
/// adding up.
using Normaliser = std::function<Tensor(const Tensor& scores, const Mask& mask)>;

/// normalise(scores, mask), whose result has the scores' shape; throws, naming both, if it has another.
Tensor normalised(const Normaliser& normalise, const Tensor& scores, const Mask& mask);

/// α_j = e^{s_j} / Σ_i e^{s_i}: positive, and each row sums to 1.
Tensor softmax_weights(const Tensor& scores, const Mask& mask = {});
/// Softmax of s / τ: τ → 0 tends to hardmax, τ → ∞ to equal weights; τ = 1 is softmax. τ ≤ 0 throws.
Normaliser softmax_with_temperature(double temperature);
/// 1 at the largest score (the first of equals), 0 elsewhere. Piecewise constant: no gradient reaches the
/// scores.
Tensor hardmax_weights(const Tensor& scores, const Mask& mask = {});
/// α_j = 1 / (1 + e^{−s_j}): each key by itself; rows sum to anything between 0 and Tk.
Tensor sigmoid_weights(const Tensor& scores, const Mask& mask = {});
/// Softmax with one more key of score 0 that nothing stands behind: a query may look at nothing (Miller 2023,
/// "Attention is off by one").
Tensor sink_weights(const Tensor& scores, const Mask& mask = {});
/// Softmax of c tanh(s / c): no score beyond ±c (Bello et al. 2017; Gemma 2, 2024).
Normaliser soft_capped(double cap);
/// sparsemax_weights, entmax15_weights: sparsemax and entmax-1.5 (core/ops/sparse.hpp), exactly 0 for all but
/// a few keys.
Tensor sparsemax_weights(const Tensor& scores, const Mask& mask = {});
Tensor entmax15_weights(const Tensor& scores, const Mask& mask = {});
/// α_j = s_j: no normalising at all, as in linear attention.
Tensor plain_weights(const Tensor& scores, const Mask& mask = {});

}  // namespace tapestry
