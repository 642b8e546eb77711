// A register of lanes, its loads and stores, and the one place where tails are handled.
//
// A Lanes<T> is one register of the instruction set that the build chose. Everything above it is written with
// these few functions and with those of core/simd/horizontal.hpp, so no other file knows where registers come
// from. That is a backend, one of two:
//
//     registers/with_xsimd.hpp   the library xsimd: x86
//     registers/portable.hpp     the compiler's vector types: everything else, and x86 when asked for
//                                (CMake: TAPESTRY_PORTABLE_SIMD)
//
// A backend gives, in the namespace `registers`, the class batch<T> with its size, its member `data` that an asm
// statement can name, load_unaligned, store_unaligned, the operators + - * / & | ^ << >> < <= > >= ==, and
// batch_bool_type with & | !; the functions fma, min, max, select, abs, sqrt, floor, trunc, sin, cos, any and
// all; and internal::native_sum. Its / and sqrt round correctly.
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

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

#ifdef TAPESTRY_PORTABLE_SIMD  // arch.hpp says so where it has to be
#include "core/simd/registers/portable.hpp"
#else
#include "core/simd/registers/with_xsimd.hpp"
#endif

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// How many values of type T one register holds.
template <class T>
inline constexpr Size kLanes = static_cast<Size>(registers::batch<T>::size);

/// One truth value per lane of a Lanes<T>.
template <class T>
struct LanesBool {
  using Native = typename registers::batch<T>::batch_bool_type;
  Native native;

  friend LanesBool operator&(LanesBool a, LanesBool b) { return {Native(a.native & b.native)}; }
  friend LanesBool operator|(LanesBool a, LanesBool b) { return {Native(a.native | b.native)}; }
  friend LanesBool operator!(LanesBool a) { return {Native(!a.native)}; }
};

/// kLanes<T> values of type T (float, double, or an integer type of their widths); a plain number becomes
/// equal lanes.
template <class T>
struct Lanes {
  using Native = registers::batch<T>;
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

/// A number for each lane, as wide as a T, so that comparing it makes a mask of T's lanes.
template <class T>
using LaneIndex = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

}  // namespace internal

// ---- memory ----

/// The kLanes<T> values at `from`, of any alignment.
template <class T>
inline Lanes<T> load(const T* from) {
  return Lanes<T>(registers::batch<T>::load_unaligned(from));
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
#if defined(__x86_64__)
  asm("" : "+v"(x.native.data));
#elif defined(__aarch64__)
  asm("" : "+w"(x.native.data));
#else
  static_cast<void>(x);  // WebAssembly has no registers to name
#endif
}
/// Asks for the cache line of `at`, which will be read or written soon. A hint: `at` may point anywhere.
inline void prefetch(const void* at) { __builtin_prefetch(at); }

// ---- lane by lane ----

/// a·b + c, rounded once where the processor can.
template <class T>
inline Lanes<T> fma(Lanes<T> a, internal::Same<T> b, internal::Same<T> c) {
  return Lanes<T>(registers::batch<T>(registers::fma(a.native, b.native, c.native)));
}
template <class T>
inline Lanes<T> min(Lanes<T> a, internal::Same<T> b) {
  return Lanes<T>(registers::batch<T>(registers::min(a.native, b.native)));
}
template <class T>
inline Lanes<T> max(Lanes<T> a, internal::Same<T> b) {
  return Lanes<T>(registers::batch<T>(registers::max(a.native, b.native)));
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
  return Lanes<T>(registers::batch<T>(registers::select(condition.native, yes.native, no.native)));
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
  return Lanes<T>(registers::batch<T>(registers::abs(a.native)));
}
template <class T>
inline Lanes<T> sqrt(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::sqrt(a.native)));
}
/// The largest whole number that is not above a.
template <class T>
inline Lanes<T> floor(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::floor(a.native)));
}
/// a without its fraction.
template <class T>
inline Lanes<T> trunc(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::trunc(a.native)));
}
/// Angles are in radians.
template <class T>
inline Lanes<T> sin(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::sin(a.native)));
}
template <class T>
inline Lanes<T> cos(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::cos(a.native)));
}

/// The integer of T's width.
template <class T>
using IntOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// The lanes' bits as integers, and back.
template <class T>
inline Lanes<IntOf<T>> to_bits(Lanes<T> a) {
  return Lanes<IntOf<T>>(std::bit_cast<registers::batch<IntOf<T>>>(a.native));
}
template <class T>
inline Lanes<T> from_bits(Lanes<IntOf<T>> a) {
  return Lanes<T>(std::bit_cast<registers::batch<T>>(a.native));
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
template <class T>
inline bool any(LanesBool<T> a) {
  return registers::any(a.native);
}
template <class T>
inline bool all(LanesBool<T> a) {
  return registers::all(a.native);
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
