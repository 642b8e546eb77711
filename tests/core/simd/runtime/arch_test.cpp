// The check before main(): a processor that lacks any instruction set of this build is refused.
#include "core/simd/runtime/arch.hpp"

#ifdef __x86_64__

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace {

// Plain numbers: they are asked before any static initialiser has run.
const char* asked[64];
int questions = 0;
const char* lacking = nullptr;

/// A processor that has all sets but one.
bool offers(const char* set) {
  if (questions < 64) asked[questions++] = set;
  return lacking == nullptr || std::strcmp(set, lacking) != 0;
}

}  // namespace

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
const char* arch_name_again();
void march_again();
}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG

// The check itself, of that processor in place of the one this runs on.
#define __builtin_cpu_supports(set) offers(set)
#define arch_name arch_name_again
#define compile_this_file_with_the_march_of_the_library march_again
#include "core/simd/runtime/arch.cpp"
#undef compile_this_file_with_the_march_of_the_library
#undef arch_name
#undef __builtin_cpu_supports

#include "tests/catch.hpp"

TEST_CASE("a processor that lacks one instruction set of the build is refused, whichever it is", "[arch]") {
  lacking = nullptr;
  questions = 0;
  REQUIRE(processor_has_the_set());
  const std::vector<std::string> sets(asked, asked + questions);
  const auto is_asked = [&](const char* set) {
    return std::find(sets.begin(), sets.end(), set) != sets.end();
  };
  for (const std::string& set : sets) {
    CAPTURE(set);
    lacking = set.c_str();
    CHECK_FALSE(processor_has_the_set());
  }
  lacking = nullptr;
#ifdef __SSE4_2__
  CHECK(is_asked("sse4.2"));
#endif
#ifdef __AVX2__
  CHECK((is_asked("avx2") && is_asked("fma") && is_asked("bmi2")));
#endif
#ifdef __AVX512BW__
  CHECK((is_asked("avx512f") && is_asked("avx512bw") && is_asked("avx512vl")));
#endif
  CHECK(std::string(tapestry::simd::arch_name()).find("x86-64") == 0);
}

#else

#include <string>

#include "tests/catch.hpp"

TEST_CASE("a build for another processor says which", "[arch]") {
  const std::string name = tapestry::simd::arch_name();
  CHECK((name == "armv8-a" || name == "wasm-simd128"));
}

#endif
