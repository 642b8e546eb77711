// Instruction set of this build: its namespace tag and its name.
//
// Kernels are in `namespace tapestry::simd::inline TAPESTRY_SIMD_TAG`, so code compiled for another instruction set
// does not link with them. CMake defines TAPESTRY_SIMD_TAG and TAPESTRY_ARCH_NAME for the library and for its users;
// without CMake, the tag follows from the compiler's macros.
#pragma once

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(__wasm_simd128__)
#error "Tapestry must be compiled for x86-64, 64-bit ARM or WebAssembly with SIMD128 (-msimd128)."
#endif
#if !defined(__x86_64__) && !defined(TAPESTRY_PORTABLE_SIMD)
#define TAPESTRY_PORTABLE_SIMD 1  // xsimd 8.1 divides incorrectly on NEON and lacks WebAssembly
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

/// Returns the name of this build's instruction set, such as "x86-64-v3".
const char* arch_name();

/// Link check, defined only for the library's instruction set. A file compiled for another set refers to it in that
/// set's namespace, so the linker's message shows this name. To fix it, link the CMake target, which carries the
/// library's -march and definitions, or build the library with the -DTAPESTRY_ARCH=… that matches your file.
void compile_this_file_with_the_march_of_the_library();

/// Makes every program that includes a kernel refer to arch.cpp, so that no static library drops its check.
[[gnu::used]] inline constexpr auto kArchAnchor = &compile_this_file_with_the_march_of_the_library;

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
