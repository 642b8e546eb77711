// Linear attention. Without the exponential of the softmax, one matrix S (d, e) can summarise any number of past
// tokens. Each token writes to S and then reads from it:
//
//     S_t = α_t S_{t−1} + k_t u_tᵀ          y_t = S_tᵀ q_t
//     sum      u_t = β_t v_t                             Schmidhuber 1992, Katharopoulos et al. 2020
//     delta    u_t = β_t (v_t − α_t S_{t−1}ᵀ k_t)        Schlag, Irie & Schmidhuber 2021; with gates α:
//                                                        Yang, Kautz & Hatamizadeh 2025
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
  /// ln α (…, T), at most 0; −∞ forgets everything. Default: 0, nothing is forgotten. Not checked: a value above
  /// 0 makes the state grow.
  Tensor log_decay = {};
  /// β (…, T). Default: 1. The delta rule is stable if β |k|² is in [0, 2], and replaces the stored value exactly
  /// if it is 1.
  Tensor beta = {};
  /// State S (…, d, e) before the first token. Default: zeros.
  Tensor state = {};
};

/// Result of linear attention.
struct LinearAttendResult {
  Tensor output;  ///< y (…, T, e)
  Tensor state;   ///< S (…, d, e) after the last token
};

/// Computes causal linear attention: q and k (…, T, d), v (…, T, e), with equal leading axes (batch, heads). The
/// kernel works in chunks of `chunk` tokens (Yang et al. 2024): a token attends to those of its chunk pair by pair and
/// reads earlier ones from S. One S is kept per chunk, so time and memory are linear in T, forward and backward.
/// Throws Error for other shapes, different dtypes and a chunk below 1.
/// A NaN at a token reaches later tokens and may reach all others of its chunk, even earlier ones. It never reaches
/// earlier chunks, other batch rows or other heads.
LinearAttendResult linear_attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const LinearAttendOptions& options = {}, Size chunk = 32, CallSite at = {});
/// Computes the same from plain ops, token by token, by the formulas above. Use it for decoding, where tokens
/// arrive one at a time. On a tape it saves T states.
LinearAttendResult linear_attend_by_token(const Tensor& q, const Tensor& k, const Tensor& v,
                                          const LinearAttendOptions& options = {}, CallSite at = {});

}  // namespace tapestry
