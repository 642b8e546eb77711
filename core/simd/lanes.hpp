// Lanes<T>, one SIMD register of values: its operators, its loads and stores, and the partial ones for tails.
//
// A Lanes<T> is one register of the instruction set that the build targets. All kernels are written with these
// functions and those of core/simd/horizontal.hpp, so no other file depends on the backend. There are two backends:
//
//     registers/with_xsimd.hpp   the library xsimd: x86
//     registers/portable.hpp     the compiler's vector types: everything else, and x86 on request
//                                (CMake: TAPESTRY_PORTABLE_SIMD)
//
// A backend provides, in namespace `registers`, the class batch<T> with its size, a member `data` that an asm
// statement can name, load_unaligned, store_unaligned, the operators + - * / & | ^ << >> < <= > >= ==, and
// batch_bool_type with & | !. It also provides the functions fma, min, max, select, abs, sqrt, floor, trunc, sin,
// cos, any and all, and internal::native_sum. Its / and sqrt round correctly.
//
// If either argument of min or max is NaN in a lane, the result is the second argument (x86's rule): min(limit, x)
// keeps a NaN in x. max_nan and min_nan return NaN if either argument is NaN.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

#ifdef TAPESTRY_PORTABLE_SIMD  // arch.hpp defines it where xsimd does not work
#include "core/simd/registers/portable.hpp"
#else
#include "core/simd/registers/with_xsimd.hpp"
#endif

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Number of values of type T in one register.
template <class T>
inline constexpr Size kLanes = static_cast<Size>(registers::batch<T>::size);

/// One boolean per lane of a Lanes<T>.
template <class T>
struct LanesBool {
  using Native = typename registers::batch<T>::batch_bool_type;
  Native native;

  friend LanesBool operator&(LanesBool a, LanesBool b) { return {Native(a.native & b.native)}; }
  friend LanesBool operator|(LanesBool a, LanesBool b) { return {Native(a.native | b.native)}; }
  friend LanesBool operator!(LanesBool a) { return {Native(!a.native)}; }
};

/// kLanes<T> values of type T (float, double, or an integer type of their widths). A scalar converts to Lanes<T> with
/// this value in all lanes.
template <class T>
struct Lanes {
  using Native = registers::batch<T>;
  using value_type = T;
  Native native;

  Lanes() = default;
  Lanes(T value) : native(value) {}
  /// Converts a number of another type, so that a formula can use 2 or 0.5 for any T.
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
  friend LanesBool<T> operator!=(Lanes a, Lanes b) { return !(a == b); }  // xsimd's != is false for NaN

  /// Selects one argument for all lanes.
  friend Lanes select(bool condition, Lanes yes, Lanes no) { return condition ? yes : no; }
};

namespace internal {

/// Parameter type that is not deduced, so that callers may pass a scalar.
template <class T>
using Same = std::type_identity_t<Lanes<T>>;

/// Lane index as wide as a T, so that comparing indices gives a mask for lanes of T.
template <class T>
using LaneIndex = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

}  // namespace internal

// ---- memory ----

/// load() reads kLanes<T> values, and store() writes them, at any alignment.
template <class T>
inline Lanes<T> load(const T* from) {
  return Lanes<T>(registers::batch<T>::load_unaligned(from));
}
template <class T>
inline void store(T* to, Lanes<T> value) {
  value.native.store_unaligned(to);
}
/// Loads the first n values at `from` (0 ≤ n ≤ kLanes<T>) and sets the other lanes to `fill`. Reads nothing after
/// the n values.
template <class T>
inline Lanes<T> load_n(const T* from, Size n, std::type_identity_t<T> fill = T(0)) {
  using Index = internal::LaneIndex<T>;
  if (n == kLanes<T>) return load(from);
  const auto count = static_cast<Index>(n);
  T lanes[static_cast<std::size_t>(kLanes<T>)];
  for (Index i = 0; i < kLanes<T>; ++i) lanes[i] = i < count ? from[i] : fill;  // becomes one masked load
  return load(static_cast<const T*>(lanes));
}
/// Stores the first n lanes (0 ≤ n ≤ kLanes<T>) and writes nothing after them.
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

/// Forces x into a register here. Otherwise a compiler may fold the load of x into each multiply-add that uses it, to
/// save an instruction, and load the same vector many times.
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
/// Prefetches the cache line of `at`, as a hint: `at` may be any address.
inline void prefetch(const void* at) { __builtin_prefetch(at); }

// ---- lane by lane ----

/// a·b + c, rounded once if the processor supports it.
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
/// min and max with a scalar as the first argument.
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
/// Largest integer that is not above a.
template <class T>
inline Lanes<T> floor(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::floor(a.native)));
}
/// a rounded toward zero.
template <class T>
inline Lanes<T> trunc(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::trunc(a.native)));
}
/// Sine and cosine; angles are in radians.
template <class T>
inline Lanes<T> sin(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::sin(a.native)));
}
template <class T>
inline Lanes<T> cos(Lanes<T> a) {
  return Lanes<T>(registers::batch<T>(registers::cos(a.native)));
}

/// Signed integer type of T's width.
template <class T>
using IntOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Reinterprets the bits of the lanes as integers, and back.
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
