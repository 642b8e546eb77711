// Stops a program at its start if the processor lacks this build's instruction set. Only x86 has sets that may be
// missing: NEON is part of every 64-bit ARM, and an engine rejects a WebAssembly module with unknown instructions.
#include "core/simd/runtime/arch.hpp"

#include <unistd.h>

#include <cstddef>

#ifndef TAPESTRY_ARCH_NAME
#if defined(__wasm__)
#define TAPESTRY_ARCH_NAME "wasm-simd128"
#elif defined(__aarch64__)
#define TAPESTRY_ARCH_NAME "armv8-a"
#elif defined(__AVX512BW__)
#define TAPESTRY_ARCH_NAME "x86-64-v4"
#elif defined(__AVX2__)
#define TAPESTRY_ARCH_NAME "x86-64-v3"
#elif defined(__SSE4_2__)
#define TAPESTRY_ARCH_NAME "x86-64-v2"
#else
#define TAPESTRY_ARCH_NAME "x86-64"
#endif
#endif

#ifdef __x86_64__
namespace {

/// Returns true if the processor and the system support every set that the compiler was told to use and that can be
/// queried. __builtin_cpu_supports also checks that the system saves the wide registers.
__attribute__((target("arch=x86-64"))) bool processor_has_the_set() {
  __builtin_cpu_init();
  bool has = true;
#ifdef __SSE3__
  has = has && __builtin_cpu_supports("sse3");
#endif
#ifdef __SSSE3__
  has = has && __builtin_cpu_supports("ssse3");
#endif
#ifdef __SSE4_1__
  has = has && __builtin_cpu_supports("sse4.1");
#endif
#ifdef __SSE4_2__
  has = has && __builtin_cpu_supports("sse4.2");
#endif
#ifdef __POPCNT__
  has = has && __builtin_cpu_supports("popcnt");
#endif
#ifdef __AVX__
  has = has && __builtin_cpu_supports("avx");
#endif
#ifdef __AVX2__
  has = has && __builtin_cpu_supports("avx2");
#endif
#ifdef __FMA__
  has = has && __builtin_cpu_supports("fma");
#endif
#ifdef __BMI__
  has = has && __builtin_cpu_supports("bmi");
#endif
#ifdef __BMI2__
  has = has && __builtin_cpu_supports("bmi2");
#endif
#ifdef __SSE4A__
  has = has && __builtin_cpu_supports("sse4a");
#endif
#ifdef __AVX512F__
  has = has && __builtin_cpu_supports("avx512f");
#endif
#ifdef __AVX512BW__
  has = has && __builtin_cpu_supports("avx512bw");
#endif
#ifdef __AVX512CD__
  has = has && __builtin_cpu_supports("avx512cd");
#endif
#ifdef __AVX512DQ__
  has = has && __builtin_cpu_supports("avx512dq");
#endif
#ifdef __AVX512VL__
  has = has && __builtin_cpu_supports("avx512vl");
#endif
#ifdef __AVX512VBMI__
  has = has && __builtin_cpu_supports("avx512vbmi");
#endif
#ifdef __AVX512VNNI__
  has = has && __builtin_cpu_supports("avx512vnni");
#endif
  return has;
}

constexpr char kRefusal[] =
    "This program was compiled for " TAPESTRY_ARCH_NAME
    ", which this processor or system does not support; rebuild it here, or with -DTAPESTRY_ARCH=x86-64-v2.\n";

/// 101 is the first priority that a program may use, so this runs before every static initialiser without a priority.
/// Priorities order the initialisers of one program or shared library.
__attribute__((constructor(101), target("arch=x86-64"))) void check_processor() {
  if (processor_has_the_set()) return;
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kRefusal, sizeof kRefusal - 1);
  _exit(2);
}

}  // namespace
#endif

const char* tapestry::simd::arch_name() { return TAPESTRY_ARCH_NAME; }
void tapestry::simd::compile_this_file_with_the_march_of_the_library() {}
