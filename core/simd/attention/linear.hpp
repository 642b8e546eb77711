// Linear attention in chunks of tokens that fit into the cache. One matrix S (d, e) stores all past tokens:
//
//     S_t = α_t S_{t−1} + k_t u_tᵀ     y_t = S_tᵀ q_t     u_t = β_t v_t, or β_t (v_t − α_t S_{t−1}ᵀ k_t): delta rule
//
// Within a chunk of C tokens, γ_i = α_1 ⋯ α_i, D_ij = α_{j+1} ⋯ α_i (that is γ_i / γ_j) for j ≤ i, else 0, and S is
// the state before the chunk:
//
//     y_i = γ_i Sᵀ q_i + Σ_j D_ij (q_i · k_j) u_j        the next S = γ_C S + Σ_j (γ_C / γ_j) k_j u_jᵀ
//     delta rule: (I + A) U = β (V − γ K S)              A_ij = β_i D_ij (k_i · k_j) for j < i
//
// (Yang et al. 2024). Only S goes from chunk to chunk, so there are three passes: over all chunks in parallel, over
// the chunks in order, and over all chunks in parallel again.
#pragma once

#include <algorithm>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Inputs and state. All arrays are dense, with one row per token. If log_decay is null, α = 1; if beta is, β = 1.
template <class T>
struct LinearAttention {
  Size batch = 0, tokens = 0, d = 0, e = 0;
  Size chunk = 1;  // in tokens, 1 or more
  bool delta = false;
  const T *q = nullptr, *k = nullptr;             // (batch, tokens, d)
  const T* v = nullptr;                           // (batch, tokens, e)
  const T *log_decay = nullptr, *beta = nullptr;  // (batch, tokens): ln α, β
  // (batch, chunks() + 1, d, e): S before each chunk, and after the last; the first is an input.
  T* states = nullptr;
  T* written = nullptr;  // U (batch, tokens, e); only for the delta rule

  Size chunks() const { return chunks_for(tokens, chunk); }
  T* state(Size row, Size n) const { return states + (row * (chunks() + 1) + n) * d * e; }
  /// Number of chunks per task of the thread pool.
  Size grain() const { return std::max<Size>(1, 8192 / std::max<Size>(1, chunk * (d + e))); }
};

/// Computes y (batch, tokens + d, e): the output of each token, then the final state. Fills `states` and `written`.
template <class T>
void linear_attention_forward(const LinearAttention<T>& a, T* y);

/// Gradients of linear attention; all arrays are dense.
template <class T>
struct LinearAttentionGradient {
  const T* dy = nullptr;                      // (batch, tokens + d, e)
  T *dq = nullptr, *dk = nullptr;             // (batch, tokens, d)
  T* dv = nullptr;                            // (batch, tokens, e)
  T *dlog_decay = nullptr, *dbeta = nullptr;  // (batch, tokens); null if the input is
  T* dstate = nullptr;                        // (batch, d, e): gradient of the first state
};
/// Computes the gradients. `states` and `written` must be those that forward has filled, with the same chunk size.
template <class T>
void linear_attention_backward(const LinearAttention<T>& a, const LinearAttentionGradient<T>& out);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
