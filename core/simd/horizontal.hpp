// Operations across the lanes of one register: sum, maximum, minimum, reversal, iota and access by index.
#pragma once

#include <bit>
#include <utility>

#include "core/simd/lanes.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace internal {

/// The compiler's vector type, whose lanes can be shuffled and indexed with either backend.
template <class T>
struct RawVector {
  typedef T Type __attribute__((vector_size(static_cast<std::size_t>(kLanes<T>) * sizeof(T))));
};

/// Reorders the lanes as i ^ kStep: neighbouring blocks of kStep lanes are exchanged.
template <Size kStep, class T, Size... kLane>
inline Lanes<T> swap_blocks(Lanes<T> a, std::integer_sequence<Size, kLane...>) {
  const auto raw = std::bit_cast<typename RawVector<T>::Type>(a.native);
  return Lanes<T>(std::bit_cast<registers::batch<T>>(__builtin_shufflevector(raw, raw, (kLane ^ kStep)...)));
}

template <class T, Size... kLane>
inline Lanes<T> reverse(Lanes<T> a, std::integer_sequence<Size, kLane...>) {
  const auto raw = std::bit_cast<typename RawVector<T>::Type>(a.native);
  return Lanes<T>(
      std::bit_cast<registers::batch<T>>(__builtin_shufflevector(raw, raw, (kLanes<T> - 1 - kLane)...)));
}

template <class T, Size... kLane>
inline Lanes<T> iota(std::integer_sequence<Size, kLane...>) {
  return Lanes<T>(std::bit_cast<registers::batch<T>>(typename RawVector<T>::Type{static_cast<T>(kLane)...}));
}

template <Size kStep, class T>
inline T fold_max(Lanes<T> a) {
  if constexpr (kStep == 0) {
    return lane(a, 0);
  } else {
    return fold_max<kStep / 2>(
        max_nan(a, swap_blocks<kStep>(a, std::make_integer_sequence<Size, kLanes<T>>{})));
  }
}

}  // namespace internal

/// Returns the lanes 0, 1, 2, …
template <class T>
inline Lanes<T> iota() {
  return internal::iota<T>(std::make_integer_sequence<Size, kLanes<T>>{});
}
/// Returns the lanes in reverse order.
template <class T>
inline Lanes<T> reverse(Lanes<T> a) {
  return internal::reverse(a, std::make_integer_sequence<Size, kLanes<T>>{});
}
/// Returns lane `index`, 0 ≤ index < kLanes<T>.
template <class T>
inline T lane(Lanes<T> a, int index) {
  return std::bit_cast<typename internal::RawVector<T>::Type>(a.native)[index];
}
/// Returns the sum of the lanes, added in a fixed order.
template <class T>
inline T reduce_add(Lanes<T> a) {
  return internal::native_sum(a.native);
}
/// Returns the largest lane, or NaN if any lane is NaN.
template <class T>
inline T reduce_max(Lanes<T> a) {
  return internal::fold_max<kLanes<T> / 2>(a);
}
/// Returns the smallest lane, or NaN if any lane is NaN.
template <class T>
inline T reduce_min(Lanes<T> a) {
  return -reduce_max(-a);
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
