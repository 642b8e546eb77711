# x86: which level of instruction sets, and the flags for it.
tapestry_macros(macros -march=${TAPESTRY_ARCH})
if(NOT macros)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} does not know TAPESTRY_ARCH=${TAPESTRY_ARCH}: use native, x86-64-v2, "
                      "x86-64-v3, x86-64-v4 or a name that its -march= takes.")
endif()
if(macros MATCHES "__AVX512F__" AND macros MATCHES "__AVX512BW__" AND macros MATCHES "__AVX512CD__"
   AND macros MATCHES "__AVX512DQ__" AND macros MATCHES "__AVX512VL__")
  set(level 4)
elseif(macros MATCHES "__AVX2__" AND macros MATCHES "__FMA__" AND macros MATCHES "__BMI2__")
  set(level 3)
elseif(macros MATCHES "__SSE4_2__" AND macros MATCHES "__POPCNT__")
  set(level 2)
else()
  set(level 1)
endif()

# native becomes the level found here, so that what is exported means the same on every machine.
set(TAPESTRY_ARCH_NAME ${TAPESTRY_ARCH})
set(tune "")
if(TAPESTRY_ARCH STREQUAL "native")
  set(TAPESTRY_ARCH_NAME x86-64-v${level})
  if(level EQUAL 1)
    set(TAPESTRY_ARCH_NAME x86-64)
  endif()
  set(tune $<BUILD_INTERFACE:-mtune=native>)
endif()
set(flags -march=${TAPESTRY_ARCH_NAME} ${tune})
# Level 4 lacks the byte products of VNNI, which quantised weights use; core/simd/runtime/arch.cpp checks for them.
if(TAPESTRY_ARCH STREQUAL "native" AND level EQUAL 4 AND macros MATCHES "__AVX512VNNI__")
  list(INSERT flags 1 -mavx512vnni)
endif()
