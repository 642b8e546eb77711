// Additive attention scores, forward and backward.
#include "core/simd/additive.hpp"

#include <algorithm>
#include <array>

#include "core/simd/horizontal.hpp"
#include "core/simd/math.hpp"
#include "core/simd/rows/row_loop.hpp"
#include "core/simd/runtime/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

constexpr Size kTogether = 4;  // keys whose tanh are computed together, to hide their latency

template <class T>
bool sees(const Additive<T>& a, Size b, Size i, Size j) {
  if (!a.mask.data) return true;
  return a.mask.data[b * a.mask.stride[0] + i * a.mask.stride[1] + j * a.mask.stride[2]];
}

/// Writes up to `most` unmasked keys of query i, from `begin` on, to `found`, and returns their number. `next` is the
/// first key not examined.
template <class T>
Size visible_keys(const Additive<T>& a, Size b, Size i, Size begin, Size* found, Size most, Size& next) {
  Size count = 0;
  for (next = begin; next < a.keys && count < most; ++next)
    if (sees(a, b, i, next)) found[count++] = next;
  return count;
}

template <class T, Size kKeys>
void score_keys(const Additive<T>& a, const T* q, const T* const* k, T* const* s) {
  std::array<Lanes<T>, static_cast<std::size_t>(kKeys)> sums;
  sums.fill(Lanes<T>(T(0)));
  sweep<T>(a.units, [&](Size u, auto part) {
    const Lanes<T> query = load(q + u, part), v = load(a.v + u, part);
    for (std::size_t j = 0; j < static_cast<std::size_t>(kKeys); ++j)
      sums[j] = fma(v, tanh(query + load(k[j] + u, part)), sums[j]);
  });
  for (std::size_t j = 0; j < static_cast<std::size_t>(kKeys); ++j) *s[j] = reduce_add(sums[j]);
}

Size items_for(Size queries, Size keys, Size units) {
  return std::max<Size>(1, 16384 / std::max<Size>(1, queries * keys * units));
}

}  // namespace

template <class T>
void additive_forward(const Additive<T>& a, T* s) {
  parallel_ranges(a.batch, items_for(a.queries, a.keys, a.units), [&](Size begin, Size end) {
    for (Size b = begin; b < end; ++b) {
      for (Size i = 0; i < a.queries; ++i) {
        const T* q = a.q + (b * a.queries + i) * a.units;
        const T* k = a.k + b * a.keys * a.units;
        T* row = s + (b * a.queries + i) * a.keys;
        std::fill_n(row, a.keys, T(0));
        for (Size first = 0, next = 0; first < a.keys; first = next) {
          Size at[kTogether];
          const Size count = visible_keys(a, b, i, first, at, kTogether, next);
          const T* keys[kTogether];
          T* out[kTogether];
          for (Size j = 0; j < count; ++j) keys[j] = k + at[j] * a.units, out[j] = row + at[j];
          if (count == kTogether)
            score_keys<T, kTogether>(a, q, keys, out);
          else
            for (Size j = 0; j < count; ++j) score_keys<T, 1>(a, q, keys + j, out + j);
        }
      }
    }
  });
}

template <class T>
void additive_backward(const Additive<T>& a, const T* ds, T* dq, T* dk, T* dv, T* partial) {
  parallel_ranges(a.batch, items_for(a.queries, a.keys, a.units), [&](Size begin, Size end) {
    for (Size b = begin; b < end; ++b) {
      const T* k = a.k + b * a.keys * a.units;
      T* dk_item = dk + b * a.keys * a.units;
      std::fill_n(dk_item, a.keys * a.units, T(0));
      sweep<T>(a.units, [&](Size u, auto part) {
        const Lanes<T> v = load(a.v + u, part), one(T(1));
        Lanes<T> dv_sum(T(0));
        for (Size i = 0; i < a.queries; ++i) {
          const Size row = b * a.queries + i;
          const Lanes<T> query = load(a.q + row * a.units + u, part);
          Lanes<T> dq_sum(T(0));
          for (Size j = 0; j < a.keys; ++j) {
            if (!sees(a, b, i, j)) continue;
            const Lanes<T> d(ds[row * a.keys + j]);
            const Lanes<T> t = tanh(query + load(k + j * a.units + u, part));
            const Lanes<T> through = d * v * (one - t * t);
            dq_sum += through;
            dv_sum = fma(d, t, dv_sum);
            T* dk_place = dk_item + j * a.units + u;
            store(dk_place, load(static_cast<const T*>(dk_place), part) + through, part);
          }
          store(dq + row * a.units + u, dq_sum, part);
        }
        store(partial + b * a.units + u, dv_sum, part);
      });
    }
  });
  std::fill_n(dv, a.units, T(0));
  for (Size b = 0; b < a.batch; ++b)
    for (Size u = 0; u < a.units; ++u) dv[u] += partial[b * a.units + u];
}

template void additive_forward(const Additive<float>&, float*);
template void additive_forward(const Additive<double>&, double*);
template void additive_backward(const Additive<float>&, const float*, float*, float*, float*, float*);
template void additive_backward(const Additive<double>&, const double*, double*, double*, double*, double*);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
