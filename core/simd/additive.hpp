// Additive attention scores (Bahdanau et al. 2015, arXiv 1409.0473) without a (batch, queries, keys, units) tensor:
// each tanh is computed where it is used, and recomputed in backward. Nearly all of the time goes to tanh.
#pragma once

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Inputs of s[b,i,j] = Σ_u v[u] tanh(q[b,i,u] + k[b,j,u]). All arrays are dense: q (batch, queries, units),
/// k (batch, keys, units), v (units), s (batch, queries, keys). `mask` has the shape of s (null data: no mask) and
/// any strides. Masked pairs are not computed and give 0.
template <class T>
struct Additive {
  Size batch = 0, queries = 0, keys = 0, units = 0;
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
  View<const bool> mask;
};
/// Computes s.
template <class T>
void additive_forward(const Additive<T>& a, T* s);

/// Computes dq, dk (shapes of q and k) and dv (units) from ds. `partial` (batch, units) is scratch memory for each
/// batch item's part of dv; the parts are added in batch order.
template <class T>
void additive_backward(const Additive<T>& a, const T* ds, T* dq, T* dk, T* dv, T* partial);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
