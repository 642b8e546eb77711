# Which compiler and which processor: checks both, sets TAPESTRY_FLAGS and TAPESTRY_DEFINITIONS.
if(NOT ((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
        OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 14)
        OR (CMAKE_CXX_COMPILER_ID STREQUAL "AppleClang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 15)))
  message(FATAL_ERROR "Tapestry needs GCC 12, Clang 14 or Xcode 15 or newer, and ${CMAKE_CXX_COMPILER} is "
                      "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}.")
endif()

# The macros that a compiler defines for an instruction set say what it may use.
function(tapestry_macros result)
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${ARGN} -dM -E -x c++ /dev/null
    OUTPUT_VARIABLE macros ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(macros "")
  endif()
  set(${result} "${macros}" PARENT_SCOPE)
endfunction()

# Each processor's file sets TAPESTRY_ARCH_NAME, level (x86 alone) and flags.
tapestry_macros(macros)
set(level 0)
if(macros MATCHES "__x86_64__" AND NOT macros MATCHES "__ILP32__")
  include(.cmake/processor/x86.cmake)
elseif(macros MATCHES "__aarch64__" AND NOT macros MATCHES "__ILP32__")
  include(.cmake/processor/arm64.cmake)
elseif(macros MATCHES "__wasm32__")
  include(.cmake/processor/wasm.cmake)
else()
  message(FATAL_ERROR "Tapestry runs on 64-bit x86 and ARM processors and as WebAssembly, and ${CMAKE_CXX_COMPILER} "
                      "builds for ${CMAKE_SYSTEM_PROCESSOR}.")
endif()
string(MAKE_C_IDENTIFIER ${TAPESTRY_ARCH_NAME} tag)
if(TAPESTRY_PORTABLE_SIMD)
  string(APPEND tag _portable)  # the two kinds of registers do not link with each other
endif()

# Kernels are templates that are also compiled in the user's files: all of these are exported with the target.
set(TAPESTRY_FLAGS ${flags} -fno-math-errno -fno-trapping-math -ffp-contract=fast)
# Without a build type CMake asks for no optimisation at all, and the user's scores and lambdas would run at a tenth
# of their speed.
list(APPEND TAPESTRY_FLAGS $<$<CONFIG:>:-O3>)
if(EMSCRIPTEN OR APPLE)  # their standard library is libc++
  list(APPEND TAPESTRY_FLAGS "$<BUILD_INTERFACE:SHELL:-include ${PROJECT_SOURCE_DIR}/.cmake/standard_library.hpp>")
endif()
if(level EQUAL 4)
  # Compilers prefer halves of registers for some processors. Kernels load whole ones, and a load that two stores
  # filled waits for both to reach the cache.
  list(APPEND TAPESTRY_FLAGS -mprefer-vector-width=512)
  list(APPEND TAPESTRY_FLAGS $<$<CONFIG:Debug>:-Og>)  # xsimd 8.1 does not compile for AVX-512 at -O0
endif()
set(TAPESTRY_DEFINITIONS TAPESTRY_SIMD_TAG=${tag} TAPESTRY_SIMD_LEVEL=${level}
                         TAPESTRY_ARCH_NAME="${TAPESTRY_ARCH_NAME}")
# Where registers come from: core/simd/lanes.hpp.
set(TAPESTRY_REGISTERS xsimd)
set(TAPESTRY_REGISTERS_HEADER <xsimd/xsimd.hpp>)
if(TAPESTRY_PORTABLE_SIMD)
  set(TAPESTRY_REGISTERS "")
  set(TAPESTRY_REGISTERS_HEADER "")
  list(APPEND TAPESTRY_DEFINITIONS TAPESTRY_PORTABLE_SIMD=1)
endif()
message(STATUS "Tapestry: ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}, "
               "instruction set ${TAPESTRY_ARCH_NAME} (TAPESTRY_ARCH=${TAPESTRY_ARCH})")

if(TAPESTRY_SANITIZE)
  add_compile_options(-fsanitize=${TAPESTRY_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TAPESTRY_SANITIZE})
endif()

# GCC collects garbage whenever it has allocated 128 MB, which is up to a fifth of the time of the largest files. Where
# there is enough memory for a few compilers, it may allocate 512 MB first.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # in MiB
  if(memory GREATER_EQUAL 7000)
    add_compile_options(--param=ggc-min-heapsize=524288)
  endif()
endif()

# -O3 is for core/, where the time of a training run goes; what only calls it compiles in less.
set(TAPESTRY_NON_KERNEL_FLAGS $<$<CONFIG:Release>:-O2>)
set(TAPESTRY_TEST_FLAGS $<$<CONFIG:Release>:-Og>)
if(EMSCRIPTEN)  # a page waits for every byte; and Emscripten 3.1.6 knows no -Og
  set(TAPESTRY_NON_KERNEL_FLAGS $<$<CONFIG:Release>:-Os>)
  set(TAPESTRY_TEST_FLAGS $<$<CONFIG:Release>:-O1>)
endif()

# tapestry_precompile(target PRIVATE headers… | target REUSE_FROM other): headers that most of its files include,
# read once. Each file includes what it needs all the same; a build with TAPESTRY_PRECOMPILE=OFF tells.
function(tapestry_precompile)
  if(TAPESTRY_PRECOMPILE)
    target_precompile_headers(${ARGN})
  endif()
endfunction()

# Warnings of our own targets; never exported.
set(TAPESTRY_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${TAPESTRY_WARNINGS_AS_ERRORS}>:-Werror>)
if(EMSCRIPTEN)  # pointers have 32 bits there, and all of our sizes 64
  list(APPEND TAPESTRY_WARNINGS -Wno-shorten-64-to-32 -Wno-sign-conversion)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps and overflows in std::string that are not there (bug 105651), more of them where a header was
  # precompiled.
  list(APPEND TAPESTRY_WARNINGS -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
