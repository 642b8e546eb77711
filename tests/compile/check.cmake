# cmake -D FILE=… -D BUILD=… -P check.cmake: FILE compiles as it is, fails with -DWRONG, and then the compiler
# says one of the texts that the file announces in lines "// error: <text>".
file(STRINGS ${FILE} announced REGEX "^// error: ")
if(NOT announced)
  message(FATAL_ERROR "${FILE} announces no failure: add a line \"// error: <what the compiler will say>\".")
endif()

# CMake writes each property of the database on a line of its own; to parse all of it takes a second and more.
string(REGEX REPLACE "([.+])" "[\\1]" pattern "${FILE}")
file(STRINGS ${BUILD}/compile_commands.json line REGEX "^ *\"command\": .* ${pattern}\",?$")
if(NOT line)
  message(FATAL_ERROR "${FILE} is not in compile_commands.json of ${BUILD}: configure again.")
endif()
string(REGEX REPLACE "^ *\"command\": \"(.*)\",?$" "\\1" line "${line}")
string(REPLACE "\\\"" "\"" line "${line}")
string(REPLACE "\\\\" "\\" line "${line}")
string(REGEX REPLACE " -o [^ ]+" "" line "${line}")
separate_arguments(command UNIX_COMMAND "${line}")

set(ENV{LC_ALL} C)  # plain quotes in messages
execute_process(COMMAND ${command} -fsyntax-only WORKING_DIRECTORY ${BUILD}
                RESULT_VARIABLE status ERROR_VARIABLE message)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${FILE} should compile without -DWRONG:\n${message}")
endif()
execute_process(COMMAND ${command} -fsyntax-only -DWRONG WORKING_DIRECTORY ${BUILD}
                RESULT_VARIABLE status ERROR_VARIABLE message)
if(status EQUAL 0)
  message(FATAL_ERROR "${FILE} compiles with -DWRONG, and must not.")
endif()
foreach(line IN LISTS announced)
  string(REGEX REPLACE "^// error: *" "" text "${line}")
  string(FIND "${message}" "${text}" place)
  if(NOT place EQUAL -1)
    message(STATUS "fails as announced: ${text}")
    return()
  endif()
endforeach()
message(FATAL_ERROR "${FILE} fails with -DWRONG, but for another reason than it announces:\n${message}")
