# 64-bit ARM: NEON, with fused multiply-adds, is part of every one. Registers are the portable ones: xsimd 8.1 divides
# and takes roots on NEON by approximations.
set(TAPESTRY_PORTABLE_SIMD ON)
set(TAPESTRY_ARCH_NAME ${TAPESTRY_ARCH})
if(TAPESTRY_ARCH STREQUAL "native")
  set(TAPESTRY_ARCH_NAME armv8-a)
endif()
set(flags -march=${TAPESTRY_ARCH_NAME})
if(APPLE AND TAPESTRY_ARCH STREQUAL "native")  # its compiler means the first processor that Apple made for it
  set(flags "")
endif()
tapestry_macros(macros ${flags})
if(NOT macros)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} does not know TAPESTRY_ARCH=${TAPESTRY_ARCH}: use native, armv8-a or a "
                      "name that its -march= takes.")
endif()
