// Normalisers: functions that turn scores into weights. To add one, declare a function of this form here and
// define it in normalise.cpp; then add a row to tests/nn/attention/normalise_test.cpp, which tests its
// formula, gradient and mask. Only softmax runs in tiles; all others use plain ops. A normaliser with
// parameters must be part of a Score.
#pragma once

#include <functional>

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// Turns scores (…, Tq, Tk) into weights over the last axis. An optional mask broadcasts to the scores.
/// Masked pairs get exactly 0 and no gradient, whatever their score; a row with all keys masked is all 0.
/// Masked scores must not enter a sum either: apply zero_masked(mask, …) of masking.hpp before adding up.
using Normaliser = std::function<Tensor(const Tensor& scores, const Mask& mask)>;

/// Returns normalise(scores, mask). Throws, naming both shapes, unless the result has the shape of the
/// scores.
Tensor normalised(const Normaliser& normalise, const Tensor& scores, const Mask& mask);

/// α_j = e^{s_j} / Σ_i e^{s_i}: positive, and each row sums to 1.
Tensor softmax_weights(const Tensor& scores, const Mask& mask = {});
/// Softmax of s / τ: τ → 0 approaches hardmax, τ → ∞ equal weights; τ = 1 is softmax. Throws unless τ is
/// positive and finite.
Normaliser softmax_with_temperature(double temperature);
/// 1 at the largest score (the first one of ties), 0 elsewhere. Piecewise constant: no gradient reaches the
/// scores.
Tensor hardmax_weights(const Tensor& scores, const Mask& mask = {});
/// α_j = 1 / (1 + e^{−s_j}), independently for each key; a row sums to a value between 0 and Tk.
Tensor sigmoid_weights(const Tensor& scores, const Mask& mask = {});
/// Softmax with an extra key of score 0 and no value, so that a query can attend to nothing (Miller 2023,
/// "Attention is off by one").
Tensor sink_weights(const Tensor& scores, const Mask& mask = {});
/// Softmax of c tanh(s / c), which bounds the scores by ±c (Bello et al. 2017; Gemma 2, 2024). Throws unless
/// c is positive and finite.
Normaliser soft_capped(double cap);
/// sparsemax_weights: sparsemax; entmax15_weights: entmax-1.5 (core/ops/sparse.hpp). Weights are exactly 0
/// for all but a few keys.
Tensor sparsemax_weights(const Tensor& scores, const Mask& mask = {});
Tensor entmax15_weights(const Tensor& scores, const Mask& mask = {});
/// α_j = s_j: no normalisation, as in linear attention.
Tensor plain_weights(const Tensor& scores, const Mask& mask = {});

}  // namespace tapestry
