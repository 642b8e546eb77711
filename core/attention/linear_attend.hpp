// Linear attention. Without the exponential of the softmax, one matrix S (d, e) summarises all past tokens,
// however many they are. Each token writes to S and then reads from it:
//
//     S_t = α_t S_{t−1} + k_t u_tᵀ          y_t = S_tᵀ q_t
//     sum      u_t = β_t v_t                             Schmidhuber 1992, Katharopoulos et al. 2020
//     delta    u_t = β_t (v_t − α_t S_{t−1}ᵀ k_t)        Schlag, Irie & Schmidhuber 2021; with gates α Yang,
//                                                        Kautz & Hatamizadeh 2025
//
// The sum rule adds to the value stored at a key; the delta rule replaces it. A gate α_t < 1 forgets (Dao & Gu
// 2024); β_t is the strength of the write.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Update rule of the state: `sum` adds a token's value to the one stored at its key, `delta` replaces it.
enum class WriteRule { sum, delta };

/// Options of linear_attend().
struct LinearAttendOptions {
  WriteRule rule = WriteRule::sum;  // u_t
  /// ln α (…, T), at most 0; −∞ forgets everything. None: nothing is forgotten. Values above 0 are not checked
  /// and make the state grow.
  Tensor log_keep = {};
  /// β (…, T); none: 1. The delta rule is stable if β |k|² is in [0, 2], and replaces the stored value exactly if
  /// it is 1.
  Tensor strength = {};
  /// Initial state S (…, d, e), before the first token; none: zeros.
  Tensor state = {};
};

/// Result of linear attention.
struct Remembered {
  Tensor read;   ///< y (…, T, e)
  Tensor state;  ///< S (…, d, e) after the last token
};

/// Computes linear attention of q and k (…, T, d) and v (…, T, e), whose leading axes (batch, heads) must be
/// equal. Token t sees the tokens up to t. One kernel works in chunks of `chunk` tokens (Yang et al. 2024): tokens
/// of a chunk see each other as pairs and the past through S. One S is kept per chunk, so time and memory grow as
/// T, forward and backward. Shapes that do not fit, mixed types and a chunk below 1 throw.
/// Unlike a mask, causality does not isolate NaN: a NaN at a token reaches later tokens and may reach others of its
/// chunk. It never reaches a read of an earlier chunk or another row.
Remembered linear_attend(const Tensor& q, const Tensor& k, const Tensor& v,
                         const LinearAttendOptions& options = {}, Size chunk = 32, CallSite at = {});
/// Computes the same token by token from plain ops, following the formulas above. Use it for decoding, where
/// tokens arrive one at a time. On a tape it keeps T states.
Remembered linear_attend_by_word(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const LinearAttendOptions& options = {}, CallSite at = {});

}  // namespace tapestry
