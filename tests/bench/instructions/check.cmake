# cmake -D PROGRAM=… -D CASE=… -D LIMIT=… -D OUT=… -P check.cmake: callgrind counts at most LIMIT instructions in
# one run of CASE, warmed up.
find_program(VALGRIND valgrind)
if(NOT VALGRIND)
  message(STATUS "skipped: there is no valgrind here")  # CTest looks for "skipped:"
  return()
endif()
set(ENV{TAPESTRY_THREADS} 1)
execute_process(COMMAND ${VALGRIND} --tool=callgrind --toggle-collect=counted_piece --callgrind-out-file=${OUT}
                        ${PROGRAM} ${CASE}
                OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
if(output MATCHES "unhandled instruction|Illegal instruction|instruction not recognised")
  message(FATAL_ERROR "valgrind does not know an instruction of this build: configure with "
                      "-DTAPESTRY_ARCH=x86-64-v3\n${output}")
endif()
if(NOT status EQUAL 0 OR NOT output MATCHES "Collected *: *([0-9]+)")
  message(FATAL_ERROR "callgrind could not count ${CASE}:\n${output}")
endif()
set(count ${CMAKE_MATCH_1})
if(count LESS 1000)
  message(FATAL_ERROR "callgrind counted ${count} instructions in ${CASE}: it did not find counted_piece()")
endif()
math(EXPR percent "100 * ${count} / ${LIMIT}")
if(count GREATER LIMIT)
  message(FATAL_ERROR "${CASE} takes ${count} instructions, ${percent} % of the ${LIMIT} that it may take. See where:\n"
                      "  callgrind_annotate ${OUT}\n"
                      "If that work must be, raise the limit in tests/bench/instructions/instructions.cmake.")
endif()
message(STATUS "${CASE}: ${count} instructions, ${percent} % of the limit")
if(percent LESS 70)
  message(STATUS "It has become cheaper: lower its limit in tests/bench/instructions/instructions.cmake")
endif()
