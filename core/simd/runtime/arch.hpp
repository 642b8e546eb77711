// The instruction set that this build was compiled for: its tag in the namespace and its name.
//
// Kernels live in `namespace tapestry::simd::inline TAPESTRY_SIMD_TAG`, so code compiled for another set does
// not link with them. CMake defines TAPESTRY_SIMD_TAG and TAPESTRY_ARCH_NAME for the library and for its
// users; a lone compile gets a tag from the compiler's own macros.
#pragma once

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(__wasm_simd128__)
#error "Tapestry runs on x86-64, on 64-bit ARM and as WebAssembly with SIMD128 (-msimd128)."
#endif
#if !defined(__x86_64__) && !defined(TAPESTRY_PORTABLE_SIMD)
#define TAPESTRY_PORTABLE_SIMD 1  // xsimd 8.1 divides wrongly on NEON, and has no WebAssembly
#endif

#ifndef TAPESTRY_SIMD_TAG
#if defined(TAPESTRY_PORTABLE_SIMD)
#define TAPESTRY_SIMD_TAG portable
#elif defined(__AVX512BW__)
#define TAPESTRY_SIMD_TAG v4_x86
#elif defined(__AVX2__)
#define TAPESTRY_SIMD_TAG v3_x86
#elif defined(__SSE4_2__)
#define TAPESTRY_SIMD_TAG v2_x86
#else
#define TAPESTRY_SIMD_TAG v1_x86
#endif
#endif

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// The instruction set of this build, for people: "x86-64-v3".
const char* arch_name();

/// Defined in the library for its own instruction set alone. A file that is compiled for another set refers to it in the
/// namespace of that set, so the linker's message has this name in it. Remedy: link the CMake target, which has the
/// library's -march and definitions, or build the library with -DTAPESTRY_ARCH=… as your file is.
void compile_this_file_with_the_march_of_the_library();

/// Every program that includes a kernel refers to arch.cpp, so no static library leaves its check out.
[[gnu::used]] inline constexpr auto kArchAnchor = &compile_this_file_with_the_march_of_the_library;

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
