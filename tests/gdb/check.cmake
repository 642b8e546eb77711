# cmake -D GDB=… -D PROGRAM=… -D SOURCE=… -P check.cmake: what gdb prints in PROGRAM with the printers of
# SOURCE/core is what expected.txt says.
set(here ${SOURCE}/tests/gdb)
execute_process(COMMAND ${GDB} -nx -batch -ex "source ${SOURCE}/core/gdb_printers.py" -x ${here}/commands.gdb ${PROGRAM}
                OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(errors MATCHES "ptrace: Operation not permitted|Python scripting is not supported")
  message(STATUS "skipped: gdb may not trace programs here, or has no Python")  # CTest looks for "skipped:"
  return()
endif()
string(REGEX MATCHALL "(^|\n)(\\$|  #|\\})[^\n]*" lines "\n${output}")
string(REPLACE ";" "" found "${lines}")
string(STRIP "${found}" found)
file(READ ${here}/expected.txt expected)
string(STRIP "${expected}" expected)
if(NOT found STREQUAL expected)
  message(FATAL_ERROR "gdb printed\n${found}\n\nand not\n${expected}\n\nIts errors: ${errors}\nAll of it: ${output}")
endif()
message(STATUS "gdb printed what expected.txt says")
