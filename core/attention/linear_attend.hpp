// Linear attention: without softmax's exponential, all that queries need to know of the words so far fits into
// one matrix S (d, e), whatever their number. It is written at each word, and then read:
//
//     S_t = α_t S_{t−1} + k_t u_tᵀ          y_t = S_tᵀ q_t
//     sum      u_t = β_t v_t                             Schmidhuber 1992, Katharopoulos et al. 2020
//     delta    u_t = β_t (v_t − α_t S_{t−1}ᵀ k_t)        Schlag, Irie & Schmidhuber 2021; with gates α Yang,
//                                                        Kautz & Hatamizadeh 2025
//
// The sum adds to what stands at a key, the delta rule replaces it. α_t < 1 forgets (Dao & Gu 2024), β_t says
// how strongly a word is written.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// What a word writes at its key: its value on top of what is there, or in its place.
enum class WriteRule { sum, delta };

struct LinearAttendOptions {
  WriteRule rule = WriteRule::sum;  // u_t
  /// ln α (…, T), 0 or less, −∞ to forget all; none: nothing is forgotten. Above 0 the state grows, and nobody
  /// checks that.
  Tensor log_keep = {};
  /// β (…, T); none: 1. The delta rule is stable where β |k|² stays in [0, 2], and replaces what it finds
  /// exactly where it is 1.
  Tensor strength = {};
  /// S (…, d, e) before the first word; none: zeros.
  Tensor state = {};
};

/// What linear attention gives.
struct Remembered {
  Tensor read;   ///< y (…, T, e)
  Tensor state;  ///< S (…, d, e) after the last word
};

/// q and k (…, T, d), v (…, T, e), with the same axes in front (batch, heads) or none. Word t sees the words up
/// to t. One kernel, in chunks of so many words (Yang et al. 2024): within a chunk as pairs, its past through S, so
/// that time and memory grow as T, both ways: one S is kept for each chunk.
/// Shapes that do not fit, mixed types and a chunk below 1 throw. It is no mask: a NaN at some word reaches
/// later ones and may reach others of its chunk, but no read of the chunks before it, and no other row.
Remembered linear_attend(const Tensor& q, const Tensor& k, const Tensor& v,
                         const LinearAttendOptions& options = {}, Size chunk = 32, CallSite at = {});
/// The same word by word from plain ops, as the formulas stand: for decoding, where words come one at a time. On a
/// tape it keeps T states.
Remembered linear_attend_by_word(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const LinearAttendOptions& options = {}, CallSite at = {});

}  // namespace tapestry
