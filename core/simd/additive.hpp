// Bahdanau's additive score without its (batch, queries, keys, units) tensor: the tanh is made where it is
// used, and made again in backward. Nearly all of the time is that tanh.
#pragma once

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// s[b,i,j] = Σ_u v[u] tanh(q[b,i,u] + k[b,j,u]). All dense: q (batch, queries, units), k (batch, keys,
/// units), v (units), s (batch, queries, keys). Pairs that the mask (same shape as s, or no data) excludes
/// are not looked at and give 0.
template <class T>
struct Additive {
  Size batch = 0, queries = 0, keys = 0, units = 0;
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
  View<const bool> mask;
};
template <class T>
void additive_forward(const Additive<T>& a, T* s);

/// ds → dq, dk (same shapes), dv (units). `partial` (batch, units) holds each item's share of dv on the way;
/// shares add up in the order of the batch.
template <class T>
void additive_backward(const Additive<T>& a, const T* ds, T* dq, T* dk, T* dv, T* partial);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
