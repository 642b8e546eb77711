// Backend on the compiler's vector types, for every processor that GCC and Clang support. It is used where xsimd is
// missing or wrong. core/simd/lanes.hpp lists what a backend provides.
//
// A type with the attribute vector_size holds several numbers, and + - * / & | ^ << >> and comparisons work on all of
// them at once. A comparison gives integers: -1, all bits set, for true, and 0 for false. Functions without an operator
// are loops over the lanes, which compilers turn into one instruction where there is one.
//
// The interface is the part of xsimd's that lanes.hpp uses.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

#include "core/simd/runtime/arch.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace registers {

#if defined(__AVX512F__)
inline constexpr std::size_t kBytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t kBytes = 32;
#else
inline constexpr std::size_t kBytes = 16;  // SSE, NEON, WebAssembly
#endif

/// Vector type of a register of T, and the signed integer type of T's width.
template <class T>
struct Vector {
  typedef T Type __attribute__((vector_size(kBytes)));
  using Integer = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
};
template <class T>
using VectorOf = typename Vector<T>::Type;
template <class T>
using BitsOf = VectorOf<typename Vector<T>::Integer>;

/// One boolean per lane: all bits set, or none.
template <class T>
struct batch_bool {
  BitsOf<T> data;

  friend batch_bool operator&(batch_bool a, batch_bool b) { return {a.data & b.data}; }
  friend batch_bool operator|(batch_bool a, batch_bool b) { return {a.data | b.data}; }
  friend batch_bool operator!(batch_bool a) { return {~a.data}; }
};

/// A register of values of type T.
template <class T>
struct batch {
  using batch_bool_type = batch_bool<T>;
  static constexpr std::size_t size = kBytes / sizeof(T);
  VectorOf<T> data;

  batch() = default;
  batch(VectorOf<T> vector) : data(vector) {}
  explicit batch(T value) : batch(value, std::make_index_sequence<size>{}) {}
  static batch load_unaligned(const T* from) {
    batch result;
    std::memcpy(&result.data, from, kBytes);
    return result;
  }
  void store_unaligned(T* to) const { std::memcpy(to, &data, kBytes); }

  friend batch operator+(batch a, batch b) { return a.data + b.data; }
  friend batch operator-(batch a, batch b) { return a.data - b.data; }
  friend batch operator*(batch a, batch b) { return a.data * b.data; }
  friend batch operator/(batch a, batch b) { return a.data / b.data; }
  friend batch operator-(batch a) { return -a.data; }
  friend batch operator&(batch a, batch b) { return from_bits(a.bits() & b.bits()); }
  friend batch operator|(batch a, batch b) { return from_bits(a.bits() | b.bits()); }
  friend batch operator^(batch a, batch b) { return from_bits(a.bits() ^ b.bits()); }
  friend batch operator<<(batch a, int count) { return a.data << count; }
  friend batch operator>>(batch a, int count) { return a.data >> count; }

  friend batch_bool<T> operator<(batch a, batch b) { return {a.data < b.data}; }
  friend batch_bool<T> operator<=(batch a, batch b) { return {a.data <= b.data}; }
  friend batch_bool<T> operator>(batch a, batch b) { return {a.data > b.data}; }
  friend batch_bool<T> operator>=(batch a, batch b) { return {a.data >= b.data}; }
  friend batch_bool<T> operator==(batch a, batch b) { return {a.data == b.data}; }

  BitsOf<T> bits() const { return (BitsOf<T>)data; }
  static batch from_bits(BitsOf<T> bits) { return (VectorOf<T>)bits; }

 private:
  template <std::size_t... kLane>
  batch(T value, std::index_sequence<kLane...>) : data{(static_cast<void>(kLane), value)...} {}
};

/// a·b + c: compilers fuse the two where the processor can, since -ffp-contract=fast allows it.
template <class T>
inline batch<T> fma(batch<T> a, batch<T> b, batch<T> c) {
  return a.data * b.data + c.data;
}
template <class T>
inline batch<T> select(batch_bool<T> condition, batch<T> yes, batch<T> no) {
  return condition.data ? yes.data : no.data;
}
#ifdef __wasm_simd128__
// Clang 14 compiles the form below to a minimum that keeps NaN, a dozen x86 instructions; this one takes a single one.
inline batch<float> min(batch<float> a, batch<float> b) { return __builtin_wasm_pmin_f32x4(b.data, a.data); }
inline batch<float> max(batch<float> a, batch<float> b) { return __builtin_wasm_pmax_f32x4(b.data, a.data); }
inline batch<double> min(batch<double> a, batch<double> b) {
  return __builtin_wasm_pmin_f64x2(b.data, a.data);
}
inline batch<double> max(batch<double> a, batch<double> b) {
  return __builtin_wasm_pmax_f64x2(b.data, a.data);
}
#else
/// Smaller of a and b, or b where either is NaN; max likewise.
template <class T>
inline batch<T> min(batch<T> a, batch<T> b) {
  return a.data < b.data ? a.data : b.data;
}
template <class T>
inline batch<T> max(batch<T> a, batch<T> b) {
  return a.data > b.data ? a.data : b.data;
}
#endif
template <class T>
inline batch<T> abs(batch<T> a) {
  return batch<T>::from_bits(a.bits() & std::numeric_limits<typename Vector<T>::Integer>::max());
}

/// Applies f to each lane.
template <class T, class F>
inline batch<T> each(batch<T> a, const F& f) {
  for (std::size_t i = 0; i < batch<T>::size; ++i) a.data[i] = f(a.data[i]);
  return a;
}
template <class T>
inline batch<T> sqrt(batch<T> a) {
  return each(a, [](T x) { return std::sqrt(x); });
}
template <class T>
inline batch<T> floor(batch<T> a) {
  return each(a, [](T x) { return std::floor(x); });
}
template <class T>
inline batch<T> trunc(batch<T> a) {
  return each(a, [](T x) { return std::trunc(x); });
}
template <class T>
inline batch<T> sin(batch<T> a) {
  return each(a, [](T x) { return std::sin(x); });
}
template <class T>
inline batch<T> cos(batch<T> a) {
  return each(a, [](T x) { return std::cos(x); });
}

/// Combines lanes that are kStep apart, then those half as far apart, until the first lane has combined all.
template <std::size_t kStep, class V, class F>
inline auto fold(V a, const F& combine) {
  if constexpr (kStep == 0) {
    return a[0];
  } else {
    const auto other = [&]<std::size_t... kLane>(std::index_sequence<kLane...>) {
      return __builtin_shufflevector(a, a, (kLane ^ kStep)...);
    }
    (std::make_index_sequence<sizeof(V) / sizeof(a[0])>{});
    return fold<kStep / 2>(V(combine(a, other)), combine);
  }
}
template <class T>
inline T reduce_add(batch<T> a) {
  return fold<batch<T>::size / 2>(a.data, [](auto x, auto y) { return x + y; });
}
template <class T>
inline bool all(batch_bool<T> a) {
#ifdef __wasm_simd128__
  return wasm_i32x4_bitmask((v128_t)a.data) == 15;
#else
  return fold<batch<T>::size / 2>(a.data, [](auto x, auto y) { return x & y; }) != 0;
#endif
}
template <class T>
inline bool any(batch_bool<T> a) {
  return !all(!a);
}

}  // namespace registers

namespace internal {

template <class T>
T native_sum(registers::batch<T> a) {
  return registers::reduce_add(a);
}

}  // namespace internal
}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
