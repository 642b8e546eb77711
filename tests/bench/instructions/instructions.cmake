# Instruction counts of small cases, which no neighbour on the machine can change: speed does not rot unnoticed.
# A limit is 1.15 times what GCC 12 gave. Other instruction sets, compilers and build types count otherwise.
if(NOT (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TAPESTRY_SANITIZE
        AND "TAPESTRY_SIMD_LEVEL=3" IN_LIST TAPESTRY_DEFINITIONS AND NOT TAPESTRY_PORTABLE_SIMD))
  return()
endif()
set(limits
  tiny_ops                 377400
  tiny_ops_forward         74700
  tiny_network_step        58300
  tiny_translator_step     866200
  tiny_transformer_step    422900)

add_executable(instructions ${CMAKE_CURRENT_LIST_DIR}/counts.cpp)
target_link_libraries(instructions PRIVATE ${libraries})
target_compile_options(instructions PRIVATE ${TAPESTRY_WARNINGS})
while(limits)
  list(POP_FRONT limits case limit)
  add_test(NAME instructions/${case}
           COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:instructions> -D CASE=${case} -D LIMIT=${limit}
                   -D OUT=${PROJECT_BINARY_DIR}/callgrind.${case} -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake)
  set_tests_properties(instructions/${case} PROPERTIES LABELS instructions TIMEOUT 300
                       SKIP_REGULAR_EXPRESSION "skipped:")
endwhile()
