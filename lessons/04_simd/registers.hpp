// A C++ type for a vector register, and the functions that the programs of lesson 04 use with it.
#pragma once

#include <vector>

#include "core/simd/lanes.hpp"
#include "core/simd/runtime/memory.hpp"

namespace tapestry::lesson04 {

using Vector = simd::registers::batch<float>;             // a register of floats
constexpr Size kLanes = static_cast<Size>(Vector::size);  // the number of floats in a register

/// Loads kLanes neighbouring floats from memory.
inline Vector load(const float* from) { return Vector::load_unaligned(from); }
inline void store(float* to, Vector x) { x.store_unaligned(to); }

/// Returns a·b + c for single numbers or whole registers.
inline float multiply_add(float a, float b, float c) { return a * b + c; }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return simd::registers::fma(a, b, c); }

inline float first_lane(float x) { return x; }
inline float first_lane(Vector x) {
  float lanes[kLanes];
  store(lanes, x);
  return lanes[0];
}

/// Calls body(0) … body(n − 1) in an unrolled loop, so that an array with such constant indices can stay in registers.
template <int n, class Body>
[[gnu::always_inline]] inline void each(const Body& body) {
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) body(i);
}

/// Tells the compiler that x changes here, so x must be in a register. Without keep(), a compiler may load the same
/// vector again for each multiply-add that uses it, to save an instruction.
inline void keep(Vector& x) {
#if defined(__x86_64__)
  asm("" : "+v"(x.data));
#elif defined(__aarch64__)
  asm("" : "+w"(x.data));
#else
  static_cast<void>(x);
#endif
}

/// `seen` uses a result, so that it must be computed; `half` is unknown to the compiler. Every access to a volatile
/// counts.
inline volatile float seen, half = 0.5F;

using Floats = std::vector<float, simd::PoolAllocator<float>>;  // starts at a cache line

}  // namespace tapestry::lesson04
