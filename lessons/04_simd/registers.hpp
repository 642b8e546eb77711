// A vector register as a C++ type, and what the programs of lesson 04 do with it.
#pragma once

#include <vector>

#include "core/simd/lanes.hpp"
#include "core/simd/runtime/memory.hpp"

namespace tapestry::lesson04 {

using Vector = simd::registers::batch<float>;             // a register of floats
constexpr Size kLanes = static_cast<Size>(Vector::size);  // how many they are

/// kLanes floats that are neighbours in memory.
inline Vector load(const float* from) { return Vector::load_unaligned(from); }
inline void store(float* to, Vector x) { x.store_unaligned(to); }

/// a·b + c, of one number or of a whole register.
inline float multiply_add(float a, float b, float c) { return a * b + c; }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return simd::registers::fma(a, b, c); }

inline float first_lane(float x) { return x; }
inline float first_lane(Vector x) {
  float lanes[kLanes];
  store(lanes, x);
  return lanes[0];
}

/// body(0) … body(n − 1), written out one after the other: an array that is only used so can live in
/// registers.
template <int n, class Body>
[[gnu::always_inline]] inline void each(const Body& body) {
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) body(i);
}

/// Says that x is changed here, by an instruction that is not there: so x has to be in a register. Without it
/// a compiler may load the same vector again for each multiply-add that uses it, to save an instruction.
inline void keep(Vector& x) {
#if defined(__x86_64__)
  asm("" : "+v"(x.data));
#elif defined(__aarch64__)
  asm("" : "+w"(x.data));
#else
  static_cast<void>(x);
#endif
}

/// What goes in was computed, what comes out is unknown: a volatile is read and written as it stands.
inline volatile float seen, half = 0.5F;

using Floats = std::vector<float, simd::PoolAllocator<float>>;  // starts where a cache line does

}  // namespace tapestry::lesson04
