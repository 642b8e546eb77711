// Linear attention. Without the exponential of the softmax, one matrix S (d, d_v) can summarise any number of past
// tokens. Each token writes to S and then reads from it, without feature map, scale or normaliser:
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

/// Update rule of the state: the formula of u_t.
enum class WriteRule { sum, delta };

/// Options of linear_attend().
struct LinearAttendOptions {
  WriteRule rule = WriteRule::sum;  // formula of u_t
  /// ln α (…, T), at most 0; −∞ forgets everything. Default: 0, nothing is forgotten. Not checked: a value above
  /// 0 makes the state grow.
  Tensor log_decay = {};
  /// β (…, T). Default: 1. The delta rule is stable if β |k|² is in [0, 2], and replaces the stored value exactly
  /// if it is 1.
  Tensor beta = {};
  /// State S (…, d, d_v) before the first token. Default: zeros.
  Tensor initial_state = {};
};

/// Result of linear attention.
struct LinearAttendResult {
  Tensor output;       ///< y (…, T, d_v)
  Tensor final_state;  ///< S (…, d, d_v) after the last token
};

/// Computes causal linear attention: q and k (…, T, d), v (…, T, d_v), with equal leading axes (batch, heads). The
/// kernel works in chunks of `chunk` tokens (Yang et al. 2024): a token attends to the tokens of its chunk pair by pair
/// and reads those of earlier chunks from S. One S is kept per chunk, so time and memory are linear in T, forward and
/// backward. Throws Error for other shapes, different dtypes and a chunk below 1.
/// In the output, a NaN at a token may reach later tokens and all tokens of its chunk, even earlier ones, but not
/// earlier chunks. In the gradients, it may reach earlier chunks too. It never reaches other batch rows or heads.
LinearAttendResult linear_attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const LinearAttendOptions& options = {}, Size chunk = 32, CallSite at = {});
/// Computes the same from plain ops, token by token, by the formulas above. Use it for decoding, where tokens
/// arrive one at a time. On a tape it saves T states.
LinearAttendResult linear_attend_by_token(const Tensor& q, const Tensor& k, const Tensor& v,
                                          const LinearAttendOptions& options = {}, CallSite at = {});

}  // namespace tapestry
