// What looks across the lanes of a register: their sum and extremes, their order, one of them by its number.
#pragma once

#include <bit>
#include <utility>

#include "core/simd/lanes.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace internal {

/// The compiler's own vector type, whose lanes may be shuffled and picked whatever the backend.
template <class T>
struct RawVector {
  typedef T Type __attribute__((vector_size(static_cast<std::size_t>(kLanes<T>) * sizeof(T))));
};

/// The lanes in the order i ^ kStep: blocks of kStep lanes change places with their neighbours.
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

/// 0, 1, 2, …
template <class T>
inline Lanes<T> iota() {
  return internal::iota<T>(std::make_integer_sequence<Size, kLanes<T>>{});
}
/// The last lane first.
template <class T>
inline Lanes<T> reverse(Lanes<T> a) {
  return internal::reverse(a, std::make_integer_sequence<Size, kLanes<T>>{});
}
/// One of the lanes.
template <class T>
inline T lane(Lanes<T> a, int index) {
  return std::bit_cast<typename internal::RawVector<T>::Type>(a.native)[index];
}
/// The sum of the lanes in a fixed order.
template <class T>
inline T reduce_add(Lanes<T> a) {
  return internal::native_sum(a.native);
}
/// The largest lane; NaN where one is.
template <class T>
inline T reduce_max(Lanes<T> a) {
  return internal::fold_max<kLanes<T> / 2>(a);
}
/// The smallest lane; NaN where one is.
template <class T>
inline T reduce_min(Lanes<T> a) {
  return -reduce_max(-a);
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
