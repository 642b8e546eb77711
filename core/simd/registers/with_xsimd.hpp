// Backend on the library xsimd, which supports each x86 instruction set; the default (core/simd/lanes.hpp lists what a
// backend provides). The differences between xsimd 8 and 14 are handled only here.
#pragma once

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

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace registers = xsimd;

namespace internal {

// Unqualified calls, found by argument-dependent lookup, as xsimd renamed hadd to reduce_add.
template <class Native>
auto native_sum(const Native& x) {
  if constexpr (requires { reduce_add(x); })
    return reduce_add(x);
  else
    return hadd(x);
}

}  // namespace internal
}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
