// The one door to xsimd: a register of lanes, its loads and stores, and the one place where tails are handled.
//
// A Lanes<T> is one register of the instruction set that the build chose. Everything above it is written with
// these few functions, so no other file includes xsimd, and its versions 8 to 14 differ only here.
//
// min, max: where a lane of either argument is NaN, the second argument's lane is the result (x86's rule), so
// min(limit, x) keeps a NaN in x. max_nan and min_nan keep a NaN from either side.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// GCC 12 warns about the deliberately undefined registers in its own AVX-512 headers.
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <xsimd/xsimd.hpp>
#pragma GCC diagnostic pop
#else
#include <xsimd/xsimd.hpp>
#endif

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// How many values of type T one register holds.
template <class T>
inline constexpr Size kLanes = static_cast<Size>(xsimd::batch<T>::size);

/// One truth value per lane of a Lanes<T>.
template <class T>
struct LanesBool {
  using Native = typename xsimd::batch<T>::batch_bool_type;
  Native native;

  friend LanesBool operator&(LanesBool a, LanesBool b) { return {Native(a.native & b.native)}; }
  friend LanesBool operator|(LanesBool a, LanesBool b) { return {Native(a.native | b.native)}; }
  friend LanesBool operator!(LanesBool a) { return {Native(!a.native)}; }
};

/// kLanes<T> values of type T (float, double, or an integer type of their widths); a plain number becomes
/// equal lanes.
template <class T>
struct Lanes {
  using Native = xsimd::batch<T>;
  using value_type = T;
  Native native;

  Lanes() = default;
  Lanes(T value) : native(value) {}
  /// A number of another type, so that a formula may say 2 or 0.5 whatever T is.
  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, T>) Lanes(Number value)
      : native(static_cast<T>(value)) {}
  explicit Lanes(Native value) : native(value) {}

  friend Lanes operator+(Lanes a, Lanes b) { return Lanes(Native(a.native + b.native)); }
  friend Lanes operator-(Lanes a, Lanes b) { return Lanes(Native(a.native - b.native)); }
  friend Lanes operator*(Lanes a, Lanes b) { return Lanes(Native(a.native * b.native)); }
  friend Lanes operator/(Lanes a, Lanes b) { return Lanes(Native(a.native / b.native)); }
  friend Lanes operator-(Lanes a) { return Lanes(Native(-a.native)); }
  friend Lanes operator&(Lanes a, Lanes b) { return Lanes(Native(a.native & b.native)); }
  friend Lanes operator|(Lanes a, Lanes b) { return Lanes(Native(a.native | b.native)); }
  friend Lanes operator^(Lanes a, Lanes b) { return Lanes(Native(a.native ^ b.native)); }
  friend Lanes operator<<(Lanes a, int bits) { return Lanes(Native(a.native << bits)); }
  friend Lanes operator>>(Lanes a, int bits) { return Lanes(Native(a.native >> bits)); }

  Lanes& operator+=(Lanes other) { return *this = *this + other; }
  Lanes& operator-=(Lanes other) { return *this = *this - other; }
  Lanes& operator*=(Lanes other) { return *this = *this * other; }
  Lanes& operator/=(Lanes other) { return *this = *this / other; }

  friend LanesBool<T> operator<(Lanes a, Lanes b) { return {a.native < b.native}; }
  friend LanesBool<T> operator<=(Lanes a, Lanes b) { return {a.native <= b.native}; }
  friend LanesBool<T> operator>(Lanes a, Lanes b) { return {a.native > b.native}; }
  friend LanesBool<T> operator>=(Lanes a, Lanes b) { return {a.native >= b.native}; }
  friend LanesBool<T> operator==(Lanes a, Lanes b) { return {a.native == b.native}; }
  friend LanesBool<T> operator!=(Lanes a, Lanes b) { return !(a == b); }  // xsimd's own is false for NaN

  /// One choice for all lanes.
  friend Lanes select(bool condition, Lanes yes, Lanes no) { return condition ? yes : no; }
};

namespace internal {

/// The argument of a function whose type another argument fixes, so that plain numbers are welcome there.
template <class T>
using Same = std::type_identity_t<Lanes<T>>;

// Unqualified calls that only argument-dependent look-up can answer: xsimd renamed hadd to reduce_add.
template <class Native>
auto native_sum(const Native& x) {
  if constexpr (requires { reduce_add(x); })
    return reduce_add(x);
  else
    return hadd(x);
}

/// A number for each lane, as wide as a T, so that comparing it makes a mask of T's lanes.
template <class T>
using LaneIndex = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

/// The compiler's own vector type, whose lanes may be shuffled and picked without xsimd.
template <class T>
struct RawVector {
  typedef T Type __attribute__((vector_size(static_cast<std::size_t>(kLanes<T>) * sizeof(T))));
};

/// The lanes in the order i ^ kStep: blocks of kStep lanes change places with their neighbours.
template <Size kStep, class T, Size... kLane>
inline Lanes<T> swap_blocks(Lanes<T> a, std::integer_sequence<Size, kLane...>) {
  const auto raw = std::bit_cast<typename RawVector<T>::Type>(a.native);
  return Lanes<T>(std::bit_cast<xsimd::batch<T>>(__builtin_shufflevector(raw, raw, (kLane ^ kStep)...)));
}

template <class T, Size... kLane>
inline Lanes<T> reverse(Lanes<T> a, std::integer_sequence<Size, kLane...>) {
  const auto raw = std::bit_cast<typename RawVector<T>::Type>(a.native);
  return Lanes<T>(
      std::bit_cast<xsimd::batch<T>>(__builtin_shufflevector(raw, raw, (kLanes<T> - 1 - kLane)...)));
}

template <class T, Size... kLane>
inline Lanes<T> iota(std::integer_sequence<Size, kLane...>) {
  return Lanes<T>(std::bit_cast<xsimd::batch<T>>(typename RawVector<T>::Type{static_cast<T>(kLane)...}));
}

}  // namespace internal

// ---- memory ----

/// The kLanes<T> values at `from`, of any alignment.
template <class T>
inline Lanes<T> load(const T* from) {
  return Lanes<T>(xsimd::batch<T>::load_unaligned(from));
}
template <class T>
inline void store(T* to, Lanes<T> value) {
  value.native.store_unaligned(to);
}
/// The first n values at `from` (0 ≤ n ≤ kLanes<T>); the lanes after them hold `fill`. Reads nothing behind
/// them.
template <class T>
inline Lanes<T> load_n(const T* from, Size n, std::type_identity_t<T> fill = T(0)) {
  using Index = internal::LaneIndex<T>;
  if (n == kLanes<T>) return load(from);
  const auto count = static_cast<Index>(n);
  T lanes[static_cast<std::size_t>(kLanes<T>)];
  for (Index i = 0; i < kLanes<T>; ++i) lanes[i] = i < count ? from[i] : fill;  // becomes one masked load
  return load(static_cast<const T*>(lanes));
}
/// Stores the first n lanes (0 ≤ n ≤ kLanes<T>) and touches nothing behind them.
template <class T>
inline void store_n(T* to, Lanes<T> value, Size n) {
  using Index = internal::LaneIndex<T>;
  if (n == kLanes<T>) return store(to, value);
  const auto count = static_cast<Index>(n);
  T lanes[static_cast<std::size_t>(kLanes<T>)];
  store(lanes, value);
  for (Index i = 0; i < kLanes<T>; ++i)  // becomes one masked store
    if (i < count) to[i] = lanes[i];
}
template <class T>
inline Lanes<T> broadcast(T value) {
  return Lanes<T>(value);
}

/// Keeps x in a register from here on. Compilers may fold a load into each of several multiply-adds that use
/// it, to save an instruction, and so load the same vector many times.
template <class T>
inline void keep_in_register(Lanes<T>& x) {
  asm("" : "+v"(x.native.data));
}
/// Asks for the cache line of `at`, which will be read or written soon. A hint: `at` may point anywhere.
inline void prefetch(const void* at) { __builtin_prefetch(at); }

// ---- lane by lane ----

/// a·b + c, rounded once where the processor can.
template <class T>
inline Lanes<T> fma(Lanes<T> a, internal::Same<T> b, internal::Same<T> c) {
  return Lanes<T>(xsimd::batch<T>(xsimd::fma(a.native, b.native, c.native)));
}
template <class T>
inline Lanes<T> min(Lanes<T> a, internal::Same<T> b) {
  return Lanes<T>(xsimd::batch<T>(xsimd::min(a.native, b.native)));
}
template <class T>
inline Lanes<T> max(Lanes<T> a, internal::Same<T> b) {
  return Lanes<T>(xsimd::batch<T>(xsimd::max(a.native, b.native)));
}
/// A plain number first.
template <class Number, class T>
requires std::is_arithmetic_v<Number>
inline Lanes<T> min(Number a, Lanes<T> b) { return min(Lanes<T>(a), b); }
template <class Number, class T>
requires std::is_arithmetic_v<Number>
inline Lanes<T> max(Number a, Lanes<T> b) { return max(Lanes<T>(a), b); }
template <class T>
inline Lanes<T> select(LanesBool<T> condition, internal::Same<T> yes, internal::Same<T> no) {
  return Lanes<T>(xsimd::batch<T>(xsimd::select(condition.native, yes.native, no.native)));
}
template <class T>
inline LanesBool<T> is_nan(Lanes<T> a) {
  return a != a;
}
template <class T>
inline Lanes<T> min_nan(Lanes<T> a, internal::Same<T> b) {
  return select(is_nan(a), a, min(a, b));
}
template <class T>
inline Lanes<T> max_nan(Lanes<T> a, internal::Same<T> b) {
  return select(is_nan(a), a, max(a, b));
}
template <class T>
inline Lanes<T> abs(Lanes<T> a) {
  return Lanes<T>(xsimd::batch<T>(xsimd::abs(a.native)));
}
template <class T>
inline Lanes<T> sqrt(Lanes<T> a) {
  return Lanes<T>(xsimd::batch<T>(xsimd::sqrt(a.native)));
}
/// The largest whole number that is not above a.
template <class T>
inline Lanes<T> floor(Lanes<T> a) {
  return Lanes<T>(xsimd::batch<T>(xsimd::floor(a.native)));
}
/// a without its fraction.
template <class T>
inline Lanes<T> trunc(Lanes<T> a) {
  return Lanes<T>(xsimd::batch<T>(xsimd::trunc(a.native)));
}
/// Angles are in radians.
template <class T>
inline Lanes<T> sin(Lanes<T> a) {
  return Lanes<T>(xsimd::batch<T>(xsimd::sin(a.native)));
}
template <class T>
inline Lanes<T> cos(Lanes<T> a) {
  return Lanes<T>(xsimd::batch<T>(xsimd::cos(a.native)));
}

/// The integer of T's width.
template <class T>
using IntOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// The lanes' bits as integers, and back.
template <class T>
inline Lanes<IntOf<T>> to_bits(Lanes<T> a) {
  return Lanes<IntOf<T>>(std::bit_cast<xsimd::batch<IntOf<T>>>(a.native));
}
template <class T>
inline Lanes<T> from_bits(Lanes<IntOf<T>> a) {
  return Lanes<T>(std::bit_cast<xsimd::batch<T>>(a.native));
}
/// −|a|.
template <class T>
inline Lanes<T> minus_abs(Lanes<T> a) {
  return a | Lanes<T>(T(-0.0));
}
/// |magnitude| with the sign of `sign`.
template <class T>
inline Lanes<T> copysign(Lanes<T> magnitude, internal::Same<T> sign) {
  const Lanes<T> sign_bit(T(-0.0));
  return abs(magnitude) | (sign & sign_bit);
}

// ---- across lanes ----

namespace internal {

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
template <class T>
inline bool any(LanesBool<T> a) {
  return xsimd::any(a.native);
}
template <class T>
inline bool all(LanesBool<T> a) {
  return xsimd::all(a.native);
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
